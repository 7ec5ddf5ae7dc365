//! The web chat in a real Chromium: log in, write, see the stream, see the picture, download a file.
