// A strict cookie does not come along when a link in a mail or another page leads here; from our own page it does.
const answer = await fetch("/api/status").catch(() => null);
if (answer?.ok) location.replace(location.pathname === "/login" ? "/" : location.pathname + location.search);
