function rect(x, y, w, h, c,   i, j) {
  for (j = y; j < y + h; j++) for (i = x; i < x + w; i++) P[j * W + i] = c
}
function label(text, x, y, s, c,   i, k, g) {
  for (i = 1; i <= length(text); i++) {
    g = F[substr(text, i, 1)]
    for (k = 0; k < 15; k++) if (substr(g, k + 1, 1) == "1") rect(x + (k % 3) * s, y + int(k / 3) * s, s, s, c)
    x += 4 * s
  }
}
# The checksum of a chunk is kept as four bytes, and exclusive-or comes from a table: awk has no bit operations.
function put(b,   i) {
  i = X[c0 * 256 + b]; c0 = X[c1 * 256 + T0[i]]; c1 = X[c2 * 256 + T1[i]]; c2 = X[c3 * 256 + T2[i]]; c3 = T3[i]
  line = line O[b]
  if (++held == 200) flush()
}
function flush() { if (held) print "printf \"" line "\""; line = ""; held = 0 }
function put4(n) { put(int(n / 16777216) % 256); put(int(n / 65536) % 256); put(int(n / 256) % 256); put(n % 256) }
function begin(n, a, b, c, d) { put4(n); c0 = c1 = c2 = c3 = 255; put(a); put(b); put(c); put(d) }
function end(   a, b, c, d) { a = 255 - c3; b = 255 - c2; c = 255 - c1; d = 255 - c0; put(a); put(b); put(c); put(d) }
function data(b) { put(b); s1 += b; s2 += s1 }
BEGIN {
  W = 480; H = 280; top = 30; bottom = 262; left = 24; right = 464
  F["0"] = "111101101101111"; F["1"] = "010110010010111"; F["2"] = "111001111100111"; F["3"] = "111001111001111"
  F["4"] = "101101111001001"; F["5"] = "111100111001111"; F["6"] = "111100111101111"; F["7"] = "111001010010010"
  F["8"] = "111101111101111"; F["9"] = "111101111001111"; F["."] = "000000000000010"; F["-"] = "000000111000000"
  F["k"] = "100101110110101"; F["M"] = "101111111101101"; F["B"] = "110101110101110"; F["T"] = "111010010010010"
  n = split(values, V, " "); split(labels, L, " ")
  high = 0; low = 0
  for (i = 1; i <= n; i++) { V[i] += 0; if (V[i] > high) high = V[i]; if (V[i] < low) low = V[i] }
  if (high == low) high = low + 1
  if (low < 0) bottom -= 20
  scale = (bottom - top) / (high - low); zero = int(top + high * scale)
  for (i = 0; i <= 4; i++) rect(left, int(top + (bottom - top) * i / 4), right - left, 1, 2)
  slot = (right - left) / n; wide = int(slot * 0.7); if (wide > 90) wide = 90
  for (i = 1; i <= n; i++) {
    tall = int((V[i] < 0 ? -V[i] : V[i]) * scale + 0.5); if (tall < 1) tall = 1
    x = int(left + slot * (i - 0.5) - wide / 2); y = V[i] < 0 ? zero : zero - tall
    rect(x, y, wide, tall, 3 + (i - 1) % 8)
    s = 3; while (s > 1 && length(L[i]) * 4 * s > slot) s--
    label(L[i], int(left + slot * (i - 0.5) - (length(L[i]) * 4 - 1) * s / 2), V[i] < 0 ? y + tall + 4 : y - 5 * s - 4, s, 1)
  }
  rect(left, zero, right - left, 2, 1); rect(left - 2, top, 2, bottom - top + 2, 1)
  for (i = 0; i < 256; i++) O[i] = sprintf("\\%03o", i)
  for (i = 0; i < 16; i++) for (j = 0; j < 16; j++) {
    r = 0; a = i; b = j
    for (k = 1; k < 16; k *= 2) { if (a % 2 != b % 2) r += k; a = int(a / 2); b = int(b / 2) }
    N[i * 16 + j] = r
  }
  for (i = 0; i < 256; i++) for (j = 0; j < 256; j++)
    X[i * 256 + j] = N[int(i / 16) * 16 + int(j / 16)] * 16 + N[(i % 16) * 16 + j % 16]
  for (i = 0; i < 256; i++) {
    a = i; b = c = d = 0
    for (k = 0; k < 8; k++) {
      odd = a % 2
      a = int(a / 2) + (b % 2) * 128; b = int(b / 2) + (c % 2) * 128; c = int(c / 2) + (d % 2) * 128; d = int(d / 2)
      if (odd) { a = X[a * 256 + 32]; b = X[b * 256 + 131]; c = X[c * 256 + 184]; d = X[d * 256 + 237] }
    }
    T0[i] = a; T1[i] = b; T2[i] = c; T3[i] = d
  }
  c0 = c1 = c2 = c3 = 255
  split("137 80 78 71 13 10 26 10", B, " "); for (i = 1; i <= 8; i++) put(B[i])
  begin(13, 73, 72, 68, 82); put4(W); put4(H); put(4); put(3); put(0); put(0); put(0); end()
  m = split("255 255 255 51 65 85 226 232 240 37 99 235 249 115 22 22 163 74 219 39 119 124 58 237 8 145 178 202 138 4 220 38 38", B, " ")
  begin(m, 80, 76, 84, 69); for (i = 1; i <= m; i++) put(B[i]); end()
  row = 1 + W / 2; total = H * row; most = int(65535 / row); blocks = int((H + most - 1) / most)
  begin(2 + blocks * 5 + total + 4, 73, 68, 65, 84); put(120); put(1)
  s1 = 1; s2 = 0
  for (y = 0; y < H; y++) {
    if (y % most == 0) {
      rows = H - y < most ? H - y : most; size = rows * row
      put(y + rows == H ? 1 : 0); put(size % 256); put(int(size / 256)); put(255 - size % 256); put(255 - int(size / 256))
    }
    data(0); at = y * W
    for (x = 0; x < W; x += 2) data(P[at + x] * 16 + P[at + x + 1])
    s1 %= 65521; s2 %= 65521
  }
  put(int(s2 / 256)); put(s2 % 256); put(int(s1 / 256)); put(s1 % 256); end()
  begin(0, 73, 69, 78, 68); end(); flush()
}
