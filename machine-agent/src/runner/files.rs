//! A file of the agent's home, read as the agent: opened beneath the home or not at all, only regular ones, in pieces.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Frame, SizeHint};
use hyper::{Response, header};
use machine_agent_api::{MOST_FILE, check_path};
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::Mode;
use tokio::io::{AsyncRead as _, ReadBuf};

use crate::answer::{Body, Refused};

/// Bytes of one piece.
const PIECE: usize = 64 << 10;
/// How often an opening is tried again that a rename of the agent's crossed.
const TRIES: u32 = 8;

/// Answers the bytes of `path` below `home`.
///
/// # Errors
/// 404 when it isn't there, 422 when it is no file that is read.
pub async fn answer(home: PathBuf, path: String) -> Result<Response<Body>, Refused> {
    check_path(&path).map_err(|what| Refused::invalid(format!("the path {what}")))?;
    let opened = tokio::task::spawn_blocking(move || open_now(&home, &path));
    let (file, left) = opened.await.map_err(|error| {
        tracing::warn!(%error, "opening a file broke off");
        Refused::failed("the file could not be opened")
    })??;
    let mut file = tokio::fs::File::from_std(file);
    file.set_max_buf_size(PIECE);
    let piece = vec![0; PIECE];
    let mut response = Response::new(Contents { file, left, piece }.boxed_unsync());
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/octet-stream"),
    );
    Ok(response)
}

/// The open file and its length.
fn open_now(home: &Path, path: &str) -> Result<(File, u64), Refused> {
    let refused = |errno| refusal(errno, path);
    let folder = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let home = open(home, folder, Mode::empty()).map_err(refused)?;
    // Not blocking: it may be a pipe. No link may lead out, nor through /proc.
    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    let mut opened = openat2(&home, path, how);
    for _ in 1..TRIES {
        if !matches!(opened, Err(Errno::EAGAIN)) {
            break;
        }
        opened = openat2(&home, path, how);
    }
    let file = File::from(opened.map_err(refused)?);
    let found = file
        .metadata()
        .map_err(|error| refused(Errno::from_raw(error.raw_os_error().unwrap_or(0))))?;
    if found.is_dir() {
        return Err(Refused::invalid(format!(
            "~/{path} is a folder, not a file"
        )));
    }
    if !found.is_file() {
        return Err(no_regular_file(path));
    }
    if found.len() > MOST_FILE {
        return Err(Refused::invalid(format!(
            "~/{path} has {} bytes; at most {MOST_FILE} are read",
            found.len()
        )));
    }
    Ok((file, found.len()))
}

fn refusal(errno: Errno, path: &str) -> Refused {
    match errno {
        Errno::ENOENT | Errno::ENOTDIR => {
            Refused::not_found(format!("there is no ~/{path} on the machine"))
        }
        Errno::EXDEV => Refused::invalid(format!(
            "~/{path} leads out of the home by a link; only what lies inside is read"
        )),
        Errno::ELOOP => Refused::invalid(format!("~/{path} is a link that leads nowhere")),
        Errno::ENXIO | Errno::ENODEV => no_regular_file(path),
        Errno::EACCES | Errno::EPERM => {
            Refused::invalid(format!("~/{path} may not be read by the agent itself"))
        }
        Errno::ENAMETOOLONG => Refused::invalid(format!("~/{path} is too long a path")),
        Errno::EAGAIN => Refused::conflict(format!("~/{path} is moved about at this moment")),
        errno => {
            tracing::warn!(%errno, "a file could not be opened");
            Refused::failed("the file could not be opened")
        }
    }
}

fn no_regular_file(path: &str) -> Refused {
    Refused::invalid(format!(
        "~/{path} is no regular file; pipes, sockets and devices are not read"
    ))
}

/// The file's bytes in pieces; breaks off when it became shorter.
struct Contents {
    file: tokio::fs::File,
    left: u64,
    piece: Vec<u8>,
}

impl hyper::body::Body for Contents {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let most = usize::try_from(this.left).unwrap_or(PIECE).min(PIECE);
        let mut buffer = ReadBuf::new(&mut this.piece[..most]);
        ready!(Pin::new(&mut this.file).poll_read(cx, &mut buffer))?;
        let read = buffer.filled();
        if read.is_empty() {
            let error = io::Error::other("the file became shorter while it was read");
            return Poll::Ready(Some(Err(error)));
        }
        this.left -= read.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(Bytes::copy_from_slice(read)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[track_caller]
    fn check(home: &Path, path: &str, expected: Result<u64, &str>) {
        let found = open_now(home, path).map(|(_, length)| length);
        match (found, expected) {
            (Ok(length), Ok(expected)) => assert_eq!(length, expected, "{path}"),
            (Err(refused), Err(expected)) => {
                let found = format!("{} {}", refused.status.as_u16(), refused.message);
                assert!(found.starts_with(expected), "{path}: {found}");
            }
            (found, _) => panic!("{path}: {found:?}"),
        }
    }

    #[test]
    fn only_regular_files_inside_the_home_are_opened() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("ada");
        std::fs::create_dir_all(home.join("folder")).unwrap();
        std::fs::write(root.path().join("outside"), "secret").unwrap();
        std::fs::write(home.join("folder/a.txt"), "hello").unwrap();
        symlink("folder/a.txt", home.join("inside")).unwrap();
        symlink("../outside", home.join("out")).unwrap();
        symlink("/etc/passwd", home.join("absolute")).unwrap();
        symlink("loop", home.join("loop")).unwrap();
        symlink("..", home.join("up")).unwrap();
        nix::unistd::mkfifo(&home.join("pipe"), Mode::S_IRWXU).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(home.join("socket")).unwrap();
        let large = File::create(home.join("large")).unwrap();
        large.set_len(MOST_FILE + 1).unwrap();
        large.set_len(MOST_FILE).unwrap();
        check(&home, "large", Ok(16_777_216));
        large.set_len(MOST_FILE + 1).unwrap();

        check(&home, "folder/a.txt", Ok(5));
        check(&home, "inside", Ok(5));
        check(&home, "folder/../folder/a.txt", Ok(5));
        check(&home, "none", Err("404 there is no ~/none"));
        check(&home, "folder/a.txt/b", Err("404 there is no "));
        check(&home, "folder", Err("422 ~/folder is a folder"));
        check(&home, "out", Err("422 ~/out leads out of the home"));
        check(
            &home,
            "absolute",
            Err("422 ~/absolute leads out of the home"),
        );
        check(&home, "up/outside", Err("422 ~/up/outside leads out"));
        check(&home, "folder/../../outside", Err("422 "));
        check(
            &home,
            "loop",
            Err("422 ~/loop is a link that leads nowhere"),
        );
        check(&home, "pipe", Err("422 ~/pipe is no regular file"));
        check(&home, "socket", Err("422 ~/socket is no regular file"));
        check(&home, "large", Err("422 ~/large has 16777217 bytes"));
    }
}
