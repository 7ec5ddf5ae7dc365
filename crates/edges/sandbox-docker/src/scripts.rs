//! What the container's `sh` is told. Everything variable comes in as `$1`, `$2`, …; nothing is spliced into the text.
//! The words are those that dash, bash and busybox share, with `cat`, `grep`, `head`, `ln`, `mkdir`, `mv`, `readlink`, `rm`, `stat`
//! and `tail` of coreutils or busybox, and `find`. Whether a file may be read is tried: busybox believes that root may read all.

/// What `$0` of each script begins with: what a person sees in a process list. A marked process has its mark behind it.
pub(crate) const NAME: &str = "tidings";

/// Keeps the container alive, and ends it at once when it is told to.
pub(crate) const IDLE: &str = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";

/// `$1` directory, `$2` command. Both outputs go into one pipe: of two, the engine would mix up the order.
pub(crate) const COMMAND: &str = r#"exec 2>&1
cd -- "$1" || exit 127
exec /bin/sh -c "$2""#;

/// The same, but that all input is read first, into a file without a name: Podman loses what a process said that ends without
/// reading its input.
pub(crate) const COMMAND_FED: &str = r#"exec 2>&1
cd -- "$1" || { cat > /dev/null; exit 127; }
kept=/tmp/.tidings-$$
: > "$kept" && exec 3> "$kept" 4< "$kept" && rm -f -- "$kept" || { cat > /dev/null; exit 126; }
cat >&3 || { cat > /dev/null; exit 126; }
exec 3>&- 0<&4 4<&-
exec /bin/sh -c "$2""#;

/// `$1` directory, `$2` command, `$3` lines and `$4` characters in a line of its terminal. Not every image has `stty`; the
/// engine is told the size as well, a moment later.
pub(crate) const TERMINAL: &str = r#"cd -- "$1" || exit 127
stty rows "$3" cols "$4" 2>/dev/null
exec /bin/sh -c "$2""#;

/// `$1` mark. Kills every process whose environment bears the mark, all of their sessions and all of their children,
/// until none is left; then says `clear`. They are looked up before the first is killed: an orphan has no parent to tell
/// whose it was. What cleared its environment, left its session and lost its parent before that, is not found.
pub(crate) const KILL: &str = r#"sessions=' '
session() {
  case "$sessions" in *" $1 "*) ;; *) [ "$1" -gt 1 ] && sessions="$sessions$1 " ;; esac
}
round=0
while [ $round -lt 40 ]; do
  round=$((round + 1))
  pids=' '
  for file in $(grep -lsF "TIDINGS_EXEC=$1." /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    pid=${pid%/environ}
    read -r stat 2>/dev/null < "/proc/$pid/stat" || continue
    set -- "$1" ${stat##*) }
    [ "$2" = Z ] && continue
    session "$5"
    pids="$pids$pid "
  done
  grown=1
  while [ -n "$grown" ]; do
    grown=
    for file in /proc/[0-9]*/stat; do
      pid=${file#/proc/}
      pid=${pid%/stat}
      case "$pids" in *" $pid "*) continue ;; esac
      read -r stat 2>/dev/null < "$file" || continue
      set -- "$1" ${stat##*) }
      [ "$2" = Z ] && continue
      case "$pids" in
        *" $3 "*) ;;
        *) case "$sessions" in *" $5 "*) ;; *) continue ;; esac ;;
      esac
      session "$5"
      pids="$pids$pid "
      grown=1
    done
  done
  [ "$pids" = ' ' ] && { echo clear; exit 0; }
  kill -KILL $pids 2>/dev/null
done
exit 1"#;

/// `$1` a file that the gateway has just laid into the inbox, or nothing. Says how often memory ran out, how many routes
/// lead out of the container, which network namespace it has, then the file.
pub(crate) const PROBE: &str = r#"kills=0
for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  [ -r "$file" ] || continue
  while read -r key value; do
    [ "$key" = oom_kill ] && kills=$value
  done < "$file"
done
echo "kills $kills"
routes=0
{
  read -r line
  while read -r line; do routes=$((routes + 1)); done
} < /proc/net/route
if [ -r /proc/net/ipv6_route ]; then
  while read -r line; do
    [ "${line##* }" = lo ] || routes=$((routes + 1))
  done < /proc/net/ipv6_route
fi
echo "routes $routes"
echo "namespace $(readlink /proc/self/ns/net)"
[ -z "$1" ] || cat -- "$1""#;

/// `$1` place of a mount. Says whether it is a folder or a file, and nothing else.
pub(crate) const MOUNTED: &str =
    r#"if [ -d "$1" ] || [ -f "$1" ]; then echo plain; else echo special; fi"#;

/// `$1` path, `$2` first byte counted from one, `$3` most bytes.
pub(crate) const READ: &str = r#"if [ -d "$1" ]; then echo folder; exit 0; fi
if [ ! -e "$1" ]; then echo missing; exit 0; fi
if [ ! -f "$1" ]; then echo special; exit 0; fi
if ! (: < "$1") 2>/dev/null; then echo closed; exit 0; fi
exec 3<"$1" || exit 1
size=$(stat -L -c %s /proc/self/fd/3) || exit 1
printf 'ok %s\n\0' "$size"
tail -c "+$2" <&3 | head -c "$3""#;

/// `$1` path, `$2` its folder, `$3` size, `$4` `new` or `replace`; the bytes on standard input.
/// They are first laid beside the file, so that a broken connection leaves the old bytes as they were.
pub(crate) const WRITE: &str = r#"umask 022
# An engine may lose the last words of a command that does not read its input to the end.
refuse() { cat > /dev/null; echo "$1"; exit 0; }
mkdir -p -- "$2" || exit 1
if [ -d "$1" ]; then refuse folder; fi
if [ "$4" = new ] && { [ -e "$1" ] || [ -L "$1" ]; }; then refuse exists; fi
if [ -e "$1" ] && [ ! -f "$1" ]; then refuse special; fi
beside=$2/.tidings-$$-$3
trap 'rm -f -- "$beside"' EXIT
cat > "$beside" || exit 1
[ "$(stat -c %s -- "$beside")" = "$3" ] || { echo short; exit 0; }
if [ "$4" = new ]; then
  ln -- "$beside" "$1" || exit 1
elif [ -e "$1" ]; then
  cat -- "$beside" > "$1" || exit 1
else
  mv -f -- "$beside" "$1" || exit 1
fi
echo ok"#;

/// `$1` name, `$2` size; the bytes on standard input. Run where the inbox may be written, by one that has nothing else to do.
/// What an earlier one left on its way is taken away first.
pub(crate) const BRING: &str = r#"umask 022
cd /inbox || exit 1
rm -f -- .coming-*
beside=.coming-$$
trap 'rm -f -- "$beside"' EXIT
cat > "$beside" || exit 1
[ "$(stat -c %s -- "$beside")" = "$2" ] || { echo 'not all of it came' >&2; exit 1; }
mv -f -- "$beside" "$1" || exit 1
echo brought"#;

/// `$1` folder.
pub(crate) const LIST: &str = r#"if [ ! -e "$1" ]; then echo missing; exit 0; fi
if [ ! -d "$1" ]; then echo special; exit 0; fi
cd -- "$1" 2>/dev/null && [ -r . ] || { echo closed; exit 0; }
printf 'ok\n\0'
find . -mindepth 1 -maxdepth 1 -exec stat -c '%f %s %n' {} +"#;

/// `$1` path, `$2` its folder, `$3` limit in bytes. The file is opened once; all that is said is said of the opened
/// file. Its bytes follow only after a line on standard input allows it; what it was like afterwards goes to standard error.
/// Nothing is said of a file that is another one at each look.
pub(crate) const CAPTURE: &str = r#"if [ -d "$1" ]; then echo directory; exit 0; fi
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
[ -f "$1" ] || exit 1
if ! why=$( (: < "$1") 2>&1 ); then
  case $why in *[Dd]enied*) echo closed; exit 0 ;; esac
  exit 1
fi
exec 3<"$1" || exit 1
about=$(stat -L -c '%s %h %f %y' /proc/self/fd/3) || exit 1
printf 'ok %s\n' "$about"
readlink /proc/self/fd/3 || exit 1
printf '\0'
read -r go || exit 0
set -- $about "$3"
head -c "$1" <&3
printf 'after %s\n' "$(stat -L -c '%s %h %f %y' /proc/self/fd/3)" >&2"#;
