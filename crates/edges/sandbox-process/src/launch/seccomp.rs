//! System calls that no command needs and that the kernel's history warns of.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use super::Stop;

/// Refused with EPERM.
const REFUSED: &[libc::c_long] = &[
    // Other roots and other worlds.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_move_pages,
    libc::SYS_mbind,
    libc::SYS_migrate_pages,
    libc::SYS_fanotify_init,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
];

/// On x86-64 each call has a second number with this bit, and some have a third one of their own.
#[cfg(target_arch = "x86_64")]
const X32: libc::c_long = 0x4000_0000;
/// x32's own numbers of ptrace, kexec_load, process_vm_readv and process_vm_writev.
#[cfg(target_arch = "x86_64")]
const X32_OWN: [libc::c_long; 4] = [521, 528, 539, 540];

/// New namespaces by way of a new process.
const NEW_NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Families of sockets that no network namespace bounds, or that reach deep into the kernel.
const FAMILIES: [libc::c_int; 3] = [libc::AF_VSOCK, libc::AF_ALG, libc::AF_BLUETOOTH];

/// Typing into a terminal for another (TIOCSTI, TIOCLINUX).
const TYPING: [u64; 2] = [0x5412, 0x541C];

/// A file that runs with its owner's rights: outside, its owner is the gateway's user.
const SET_ID: [libc::mode_t; 2] = [libc::S_ISUID, libc::S_ISGID];
/// Calls that set a file's mode, and which argument it is.
const MODES: &[(libc::c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];
/// The same number on every architecture, like each call since 2019.
const FCHMODAT2: libc::c_long = 452;
/// Calls that make a file if told to, and which argument is the flags; the mode follows.
const OPENS: &[(libc::c_long, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// Raises the filters for this thread and all that come from it; says whether the kernel has them.
pub(super) fn raise() -> Result<bool, Stop> {
    let failed = |error: &dyn std::fmt::Display| {
        Stop::Failed(format!("the system call filter is wrong: {error}"))
    };
    let filters = [
        filter(refused().map_err(|error| failed(&error))?, libc::EPERM),
        // Their flags lie in memory, where a filter can't look; programs fall back to clone and openat.
        filter(whole(&[libc::SYS_clone3, libc::SYS_openat2]), libc::ENOSYS),
    ];
    for filter in filters {
        let filter = filter.map_err(|error| failed(&error))?;
        match apply_filter(&filter) {
            Ok(()) => {}
            Err(seccompiler::Error::Prctl(_) | seccompiler::Error::Seccomp(_)) => return Ok(false),
            Err(error) => return Err(failed(&error)),
        }
    }
    Ok(true)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn filter(rules: Rules, errno: libc::c_int) -> Result<seccompiler::BpfProgram, BackendError> {
    let answer = SeccompAction::Errno(errno.unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, answer, arch)?.try_into()
}

/// Rules for calls whatever their arguments.
fn whole(calls: &[libc::c_long]) -> Rules {
    calls
        .iter()
        .flat_map(|call| numbers(*call))
        .map(|call| (call, Vec::new()))
        .collect()
}

fn numbers(call: libc::c_long) -> Vec<i64> {
    #[cfg(target_arch = "x86_64")]
    return vec![call, call | X32];
    #[cfg(not(target_arch = "x86_64"))]
    return vec![call];
}

fn refused() -> Result<Rules, BackendError> {
    let mut rules = whole(REFUSED);
    #[cfg(target_arch = "x86_64")]
    rules.extend(X32_OWN.into_iter().map(|call| (call | X32, Vec::new())));

    let mut add = |call: libc::c_long, wanted: Vec<SeccompRule>| {
        for number in numbers(call) {
            rules.insert(number, wanted.clone());
        }
    };
    let clone = NEW_NAMESPACES
        .into_iter()
        .map(|flag| {
            let flag = u64::from(flag.unsigned_abs());
            one(
                0,
                SeccompCmpArgLen::Qword,
                SeccompCmpOp::MaskedEq(flag),
                flag,
            )
        })
        .collect::<Result<_, _>>()?;
    add(libc::SYS_clone, clone);
    let families = FAMILIES
        .into_iter()
        .map(|family| {
            one(
                0,
                SeccompCmpArgLen::Dword,
                SeccompCmpOp::Eq,
                u64::from(family.unsigned_abs()),
            )
        })
        .collect::<Result<_, _>>()?;
    add(libc::SYS_socket, families);
    let typing = TYPING
        .into_iter()
        .map(|request| one(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request))
        .collect::<Result<_, _>>()?;
    add(libc::SYS_ioctl, typing);
    for (call, mode) in MODES {
        let rules = SET_ID
            .into_iter()
            .map(|bit| SeccompRule::new(vec![has(*mode, bit)?]))
            .collect::<Result<_, _>>()?;
        add(*call, rules);
    }
    for (call, flags) in OPENS {
        let makes = libc::O_CREAT.unsigned_abs();
        let rules = SET_ID
            .into_iter()
            .map(|bit| SeccompRule::new(vec![has(*flags, makes)?, has(flags + 1, bit)?]))
            .collect::<Result<_, _>>()?;
        add(*call, rules);
    }
    Ok(rules)
}

fn has(argument: u8, bit: u32) -> Result<SeccompCondition, BackendError> {
    let bit = u64::from(bit);
    SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(bit),
        bit,
    )
}

fn one(
    argument: u8,
    length: SeccompCmpArgLen,
    how: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, length, how, value)?])
}

#[cfg(test)]
mod tests {
    use nix::libc;

    use super::{filter, refused, whole};

    #[test]
    fn the_filters_compile_and_leave_ordinary_calls_alone() {
        let rules = refused().unwrap();
        for call in [
            libc::SYS_read,
            libc::SYS_execve,
            libc::SYS_futex,
            libc::SYS_wait4,
            libc::SYS_write,
        ] {
            assert!(!rules.contains_key(&call), "{call}");
        }
        for call in [libc::SYS_mount, libc::SYS_ptrace, libc::SYS_unshare] {
            assert!(rules.contains_key(&call), "{call}");
        }
        assert!(filter(rules, libc::EPERM).is_ok());
        assert!(filter(whole(&[libc::SYS_clone3]), libc::ENOSYS).is_ok());
    }
}
