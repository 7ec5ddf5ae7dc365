//! What shells of the other machine are told. Everything variable comes in as `$1`, `$2`, …; nothing is spliced into the
//! text. The words are those that dash, bash and busybox share on Linux, with the small programs of coreutils or busybox.

/// Holds a connection's watch. `$1` the folder of the sandboxes, below the home unless absolute.
///
/// Says what the machine is like ([`crate::facts`]), then reads words: `end TEXT` kills every process whose environment holds
/// TEXT, all of their sessions and all of their children, until none is left. They are looked up before the first is killed:
/// an orphan has no parent to tell whose it was. Outside of walls, what cleared its environment, left its session and lost its
/// parent before that, is not found. When the connection ends, or nothing was heard for 90 seconds, all that the connection
/// started is ended.
pub(crate) const WATCH: &str = r#"look() {
  read -r stat 2>/dev/null < "/proc/$1/stat" || return 1
  set -- ${stat##*) }
  case ${1-} in Z|X|x) return 1 ;; esac
  parent=${2-} session=${4-}
}
take() {
  look "$1" || return 0
  pids="$pids$1 "
  case $session in ''|0|1|*[!0-9]*) return 0 ;; esac
  case $sessions in *" $session "*) ;; *) sessions="$sessions$session " ;; esac
}
end() {
  sessions=' ' round=0
  while [ "$round" -lt 16 ]; do
    round=$((round + 1)) pids=' '
    for file in $(grep -lsF -e "$1" /proc/[0-9]*/environ); do
      pid=${file#/proc/}
      take "${pid%/environ}"
    done
    grown=1
    while [ -n "$grown" ]; do
      grown=
      for file in /proc/[0-9]*/stat; do
        pid=${file#/proc/}
        pid=${pid%/stat}
        case $pids in *" $pid "*) continue ;; esac
        look "$pid" || continue
        case $pids in
          *" $parent "*) ;;
          *) case $sessions in *" $session "*) ;; *) continue ;; esac ;;
        esac
        take "$pid"
        grown=1
      done
    done
    [ "$pids" = ' ' ] && return 0
    kill -KILL $pids 2>/dev/null
    [ "$round" -lt 8 ] || sleep 1
  done
  return 1
}
arm() {
  (
    trap 'kill "$pause" 2>/dev/null; exit 0' TERM
    sleep 90 & pause=$!
    wait "$pause"
    end "TIDINGS_EXEC=$mark."
  ) < /dev/null > /dev/null 2>&1 &
  timer=$!
}
disarm() {
  kill "$timer" 2>/dev/null
  wait "$timer" 2>/dev/null
}
umask 077
echo "system $(uname -s) $(uname -r)"
echo "user $(id -u)"
echo "home $(cd -- "$HOME" 2>/dev/null && pwd -P)"
case $1 in /*) folder=$1 ;; *) folder=$HOME/$1 ;; esac
mkdir -p -- "$folder" && cd -- "$folder" || exit 1
echo "folder $(pwd -P)"
echo "names $(readlink -f /etc/resolv.conf)"
if bwrap=$(command -v bwrap); then
  more=
  case $("$bwrap" --help 2>&1) in *--disable-userns*) more=--disable-userns ;; esac
  if why=$("$bwrap" --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-net $more --die-with-parent \
    --cap-drop ALL --ro-bind / / --dev /dev --proc /proc true 2>&1)
  then echo "walls $bwrap $more"
  else echo "bare $(printf %s "$why" | tail -n 1)"
  fi
else
  echo "bare bubblewrap is not installed there"
fi
for entry in /* /.[!.]*; do
  if [ -L "$entry" ]; then echo "link $entry $(readlink "$entry")"
  elif [ -d "$entry" ]; then echo "dir $entry"
  fi
done
look $$ && set -- ${stat##*) }
shift 19
mark=$$-${1-0}
echo "ready $mark"
arm
while IFS= read -r word; do
  disarm
  arm
  case $word in
    'end '*) ( (
      if end "${word#end }"; then echo "clear ${word#end }"; else echo "alive ${word#end }"; fi
    ) & ) ;;
  esac
done
disarm
end "TIDINGS_EXEC=$mark.""#;

/// `$1` a sandbox's folder, `$2` its key. What follows it in the line makes the walls, or goes on without.
pub(crate) const FOLDERS: &str = r#"umask 077
for place in workspace home inbox tmp; do
  [ -d "$1/$place" ] || mkdir -p -- "$1/$place" || exit 125
done
[ -s "$1/key" ] || printf '%s\n' "$2" > "$1/key" || exit 125
umask 022"#;

/// `$1` directory, `$2` command, `$3` most kilobytes of data for one process, `$4` most processes, or nothing, `$5` `walled`,
/// or nothing. Standard error of the channel is ours; the command's own goes where its output goes.
pub(crate) const COMMAND: &str = r#"exec 3>&2 2>&1
echo begun >&3
ulimit -c 0 2>/dev/null
ulimit -n 4096 2>/dev/null
ulimit -d "$3" 2>/dev/null
[ -z "$4" ] || ulimit -u "$4" 2>/dev/null || ulimit -p "$4" 2>/dev/null
cd -- "$1" || exit 127
/bin/sh -c "$2" 3>&-
code=$?
[ -n "$5" ] || exit "$code"
left=
for at in /proc/[0-9]*; do
  case ${at#/proc/} in 1|$$) continue ;; esac
  read -r stat 2>/dev/null < "$at/stat" || continue
  case ${stat##*) } in Z*|X*) ;; *) left=1 ;; esac
done
[ -z "$left" ] || echo left >&3
exit "$code""#;

/// As [`COMMAND`], in a terminal. Says [`READY`] when whatever is typed from then on is the command's. The command is a job of
/// its own there: a `^C` is meant for it and not for the walls. The shell that makes it one can't tell its end by its own.
pub(crate) const TERMINAL: &str = r#"stty sane 2>/dev/null
ulimit -c 0 2>/dev/null
ulimit -n 4096 2>/dev/null
ulimit -d "$3" 2>/dev/null
[ -z "$4" ] || ulimit -u "$4" 2>/dev/null || ulimit -p "$4" 2>/dev/null
cd -- "$1" || exit 127
printf '\036'
exec 4>&1
code=$(/bin/sh -c 'set -m; /bin/sh -c "$1" 3>&-; echo $? >&3; exec 2> /dev/null' tidings "$2" 3>&1 >&4 4>&-)
exit "${code:-130}""#;

/// What [`TERMINAL`] says first.
pub(crate) const READY: u8 = 0o36;

/// `$1` path, `$2` first byte counted from one, `$3` most bytes. Says one line, then the bytes.
pub(crate) const READ: &str = r#"if [ -d "$1" ]; then echo folder; exit 0; fi
if [ ! -e "$1" ]; then echo missing; exit 0; fi
if [ ! -f "$1" ]; then echo special; exit 0; fi
if ! (: < "$1") 2>/dev/null; then echo closed; exit 0; fi
exec 3< "$1" || exit 1
echo "ok $(stat -L -c %s /proc/self/fd/3)"
tail -c "+$2" <&3 | head -c "$3""#;

/// `$1` path, `$2` its folder, `$3` size, `$4` `new` or `replace`; the bytes on standard input. They are laid beside the file
/// and take its place in one step: a broken connection leaves the old bytes as they were. A link is followed to its file.
pub(crate) const WRITE: &str = r#"umask 022
mkdir -p -- "$2" || exit 1
if [ -d "$1" ]; then echo folder; exit 0; fi
if [ "$4" = new ] && { [ -e "$1" ] || [ -L "$1" ]; }; then echo exists; exit 0; fi
if [ -e "$1" ] && [ ! -f "$1" ]; then echo special; exit 0; fi
if [ -e "$1" ] && [ ! -w "$1" ]; then echo closed; exit 0; fi
file=$1 folder=$2
if [ -L "$1" ] && [ -e "$1" ]; then
  file=$(readlink -f -- "$1"; echo x) && file=${file%?x} || exit 1
  folder=${file%/*}/
fi
beside=$folder/.tidings-$$-$3
trap 'rm -f -- "$beside"' EXIT
trap 'exit 1' HUP INT TERM
(set -C; : > "$beside") || exit 1
cat > "$beside" || exit 1
[ "$(stat -c %s -- "$beside")" = "$3" ] || { echo short; exit 0; }
if [ "$4" = new ]; then
  ln -- "$beside" "$file" || exit 1
else
  [ ! -e "$file" ] || chmod "$(stat -c %a -- "$file")" "$beside" || exit 1
  mv -f -- "$beside" "$file" || exit 1
fi
echo ok"#;

/// `$1` folder. Says one line, then a line for each entry.
pub(crate) const LIST: &str = r#"if [ ! -e "$1" ]; then echo missing; exit 0; fi
if [ ! -d "$1" ]; then echo special; exit 0; fi
cd -- "$1" 2>/dev/null && [ -r . ] || { echo closed; exit 0; }
echo ok
find . -mindepth 1 -maxdepth 1 -exec stat -c '%f %s %n' {} +"#;

/// `$1` path, `$2` its folder. The file is opened once, and all that is said is said of the opened file: one line, its place,
/// a NUL. Its bytes, as many as it had, follow once `go` was read; then, on standard error, what it was like afterwards. Of what
/// changes under its hands it says nothing.
pub(crate) const CAPTURE: &str = r#"about() { stat -L -c '%s %h %f %y' /proc/self/fd/3; }
if [ -d "$1" ]; then echo directory; exit 0; fi
if [ ! -e "$1" ]; then
  printf 'missing\n\0'
  cd -- "$2" 2>/dev/null || exit 0
  count=0
  for name in * .[!.]*; do
    [ -f "$name" ] || continue
    printf '%s\0' "$name"
    count=$((count + 1))
    [ "$count" -lt 500 ] || break
  done
  exit 0
fi
if [ -p "$1" ]; then echo fifo; exit 0; fi
if [ -S "$1" ]; then echo socket; exit 0; fi
if [ -b "$1" ] || [ -c "$1" ]; then echo device; exit 0; fi
[ -f "$1" ] || exit 0
if ! why=$( (: < "$1") 2>&1); then
  case $why in *': Permission denied') echo closed ;; esac
  exit 0
fi
exec 3< "$1" || exit 1
first=$(about) || exit 1
printf 'ok %s\n' "$first"
readlink /proc/self/fd/3 || exit 1
printf '\0'
read -r go || exit 0
head -c "${first%% *}" <&3
echo "after $(about)" >&2"#;

/// `$1` a sandbox's folder, `$2` a name for the bytes meanwhile; the bytes on standard input. Says how many came.
pub(crate) const BRING: &str = r#"umask 077
mkdir -p -- "$1/coming" && cd -- "$1/coming" || exit 1
find . -type f -mmin +1440 -exec rm -f {} +
cat > "$2" || exit 1
chmod 444 "$2" && echo "came $(stat -c %s -- "$2")""#;

/// `$1` a sandbox's folder, `$2` the name of [`BRING`], then names for the inbox. Says which of them was free, and takes it.
pub(crate) const LAY: &str = r#"from=$1/coming/$2 to=$1/inbox
shift 2
for name in "$@"; do
  if ln -- "$from" "$to/$name" 2>/dev/null; then
    rm -f -- "$from"
    echo "laid $name"
    exit 0
  fi
  [ -e "$to/$name" ] || [ -L "$to/$name" ] || { ln -- "$from" "$to/$name"; exit 1; }
done
echo taken"#;

/// `$1` a sandbox's folder, `$2` the name of [`BRING`]: takes the bytes away again.
pub(crate) const DROP: &str = r#"rm -f -- "$1/coming/$2""#;

/// `$1` the folder of all sandboxes, `$2` `disk` to measure. Says a line for each sandbox and for each process in one.
pub(crate) const STANDING: &str = r#"cd -- "$1" || exit 1
for key in */*/key; do
  [ -f "$key" ] || continue
  box=${key%/key}
  size=-
  [ "$2" != disk ] || { size=$(du -sk -- "$box" 2>/dev/null) && size=${size%%[!0-9]*} || size=-; }
  printf 'box %s %s %s %s\n' "$box" "$(stat -c %Y -- "$key")" "$size" "$(head -n 1 -- "$key")"
done
own=TIDINGS_SANDBOX=@${1%/}/
for file in $(grep -lsF -e "$own" /proc/[0-9]*/environ); do
  pid=${file#/proc/}
  pid=${pid%/environ}
  box=$(tr '\000' '\n' < "$file" | grep -F -e "$own" | head -n 1)
  line=$(tr '\000\n' '  ' < "/proc/$pid/cmdline" | head -c 400)
  [ -z "$box" ] || printf 'run %s %s %s\n' "${box#"$own"}" "$pid" "$line"
done 2>/dev/null"#;
