//! A thread that makes the box's next pages ready, so that no store of the job's own threads waits for the disk.

use std::mem::MaybeUninit;
use std::thread;
use std::time::Duration;

use crate::recorder;

/// Far less than a busy job takes for the pages that are ready.
const PAUSE: Duration = Duration::from_millis(20);
const STACK_BYTES: usize = 256 << 10;

/// Starts the thread. Where there can be none, the job's threads wait now and then.
pub(crate) fn start() {
    without_signals(|| {
        let _ = thread::Builder::new().name("oomph".to_owned()).stack_size(STACK_BYTES).spawn(run);
    });
}

fn run() {
    let mut until = 0;
    loop {
        if let Some(recorder) = recorder::current() {
            until = recorder.box_writer().make_ready(until);
        }
        thread::sleep(PAUSE);
    }
}

/// What is started here hears no signals: they are for the job's own threads.
fn without_signals(start: impl FnOnce()) {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: there is room for both sets, and the second is used only once it was filled.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        if libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) != 0 {
            return;
        }
        start();
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
    }
}
