//! Fat binaries: the compiled code of a `.cu` file, one image for each architecture.
//!
//! Read are which architectures there are, and whether an image can call the system. Images are compressed with Zstandard
//! by the compilers of CUDA 12.8 and later, with LZ4 by older ones; the latter are not looked into.

use std::slice;

const WRAPPER_MAGIC: u32 = 0x4662_43b1;
const MAGIC: u32 = 0xba55_ed50;
const PTX: u16 = 1;
const ELF: u16 = 2;
/// Flags of an image.
const IS_LZ4: u64 = 0x2000;
const IS_ZSTD: u64 = 0x8000;
/// No compiler puts more images into one fat binary; a limit for ones that are not what they seem.
const MAX_IMAGES: usize = 64;
/// An image begins with a header of at least so many bytes.
const IMAGE_HEADER_BYTES: usize = 64;
/// No image of libtorch has a tenth of this.
const MAX_IMAGE_BYTES: u64 = 1 << 30;

/// The functions of the device's own library that leave a kernel: a failed assertion, and printing.
const SYSTEM_CALLS: [&[u8]; 2] = [b"\0__assertfail\0", b"\0vprintf\0"];

/// One image of a fat binary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Image {
    kind: u16,
    /// Such as 90.
    pub(crate) architecture: u32,
    flags: u64,
    data: *const u8,
    bytes: usize,
    unpacked_bytes: u64,
}

/// The image that a card of an architecture runs: the newest of its own generation, else code for the compiler.
pub(crate) fn chosen(images: &[Image], own: u32) -> Option<&Image> {
    let newest = |kind: u16| {
        let fitting = images.iter().filter(move |image| image.kind == kind && image.architecture <= own);
        fitting.max_by_key(|image| image.architecture)
    };
    newest(ELF).filter(|found| found.architecture / 10 == own / 10).or_else(|| newest(PTX))
}

impl Image {
    /// Whether a kernel of this image can fail an assertion or print. Of code that cannot be read it is assumed: two
    /// thirds of all first launches are of such code.
    pub(crate) fn calls_system(&self) -> bool {
        // SAFETY: inside the fat binary, which stays as long as its library.
        let stored = unsafe { slice::from_raw_parts(self.data, self.bytes) };
        if self.flags & IS_ZSTD != 0 {
            let room = usize::try_from(self.unpacked_bytes.min(MAX_IMAGE_BYTES)).unwrap_or(0);
            return zstd::bulk::decompress(stored, room).map_or(true, |code| names_system_call(&code));
        }
        self.flags & IS_LZ4 != 0 || names_system_call(stored)
    }
}

fn names_system_call(code: &[u8]) -> bool {
    SYSTEM_CALLS.iter().any(|name| code.windows(name.len()).any(|window| window == *name))
}

/// Every image in a fat binary.
///
/// # Safety
///
/// `wrapper` is null or points to what a compiler gives `__cudaRegisterFatBinary`, which stays.
pub(crate) unsafe fn images(wrapper: *const u32) -> Vec<Image> {
    let mut found = Vec::new();
    // SAFETY: a wrapper begins with its magic number, a version and the address of the fat binary.
    let data: *const u8 = unsafe {
        if wrapper.is_null() || wrapper.read_unaligned() != WRAPPER_MAGIC {
            return found;
        }
        wrapper.add(2).cast::<*const u8>().read_unaligned()
    };
    // SAFETY: a fat binary begins with its magic number, the size of its header (16) and that of all its images.
    let (magic, header_bytes, bytes) = unsafe {
        if data.is_null() {
            return found;
        }
        let word = |at: usize| data.add(at);
        (
            word(0).cast::<u32>().read_unaligned(),
            word(6).cast::<u16>().read_unaligned() as usize,
            word(8).cast::<u64>().read_unaligned() as usize,
        )
    };
    if magic != MAGIC {
        return found;
    }
    let (mut at, end) = (header_bytes, header_bytes.saturating_add(bytes));
    while at + IMAGE_HEADER_BYTES <= end && found.len() < MAX_IMAGES {
        // SAFETY: the header of an image, inside the fat binary's size.
        let Some((image, all_bytes)) = (unsafe { image(data.add(at), end - at) }) else { break };
        found.push(image);
        at += all_bytes;
    }
    found
}

/// An image and its size with its header; none if it is not inside the `room` there is.
///
/// # Safety
///
/// `data` points to `room` bytes, at least [`IMAGE_HEADER_BYTES`].
unsafe fn image(data: *const u8, room: usize) -> Option<(Image, usize)> {
    // SAFETY: inside the header.
    let (kind, header_bytes, bytes, packed_bytes, architecture, flags, unpacked_bytes) = unsafe {
        let word = |offset: usize| data.add(offset);
        (
            word(0).cast::<u16>().read_unaligned(),
            word(4).cast::<u32>().read_unaligned() as usize,
            word(8).cast::<u64>().read_unaligned() as usize,
            word(16).cast::<u32>().read_unaligned() as usize,
            word(28).cast::<u32>().read_unaligned(),
            word(40).cast::<u64>().read_unaligned(),
            word(56).cast::<u64>().read_unaligned(),
        )
    };
    let all_bytes = header_bytes.checked_add(bytes).filter(|&all| all <= room && all > 0)?;
    // Images are padded; the size that counts stands beside.
    let bytes = if packed_bytes == 0 { bytes } else { packed_bytes.min(bytes) };
    // SAFETY: inside the room.
    let data = unsafe { data.add(header_bytes) };
    Some((Image { kind, architecture, flags, data, bytes, unpacked_bytes }, all_bytes))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A fat binary as a compiler builds one, and the wrapper that is registered. Both must stay where they are.
    pub(crate) fn build(images: &[(u16, u32, u64, &[u8])]) -> (Vec<u8>, [u64; 2]) {
        let bytes: usize = images.iter().map(|(.., code)| IMAGE_HEADER_BYTES + code.len().next_multiple_of(8)).sum();
        let mut data = Vec::new();
        data.extend(MAGIC.to_ne_bytes());
        data.extend([1_u16, 16].map(u16::to_ne_bytes).concat());
        data.extend((bytes as u64).to_ne_bytes());
        for (kind, architecture, flags, code) in images {
            let mut image = vec![0_u8; IMAGE_HEADER_BYTES + code.len().next_multiple_of(8)];
            image[..2].copy_from_slice(&kind.to_ne_bytes());
            image[4..8].copy_from_slice(&(IMAGE_HEADER_BYTES as u32).to_ne_bytes());
            image[8..16].copy_from_slice(&(code.len().next_multiple_of(8) as u64).to_ne_bytes());
            image[16..20].copy_from_slice(&(code.len() as u32).to_ne_bytes());
            image[28..32].copy_from_slice(&architecture.to_ne_bytes());
            image[40..48].copy_from_slice(&flags.to_ne_bytes());
            image[56..64].copy_from_slice(&4096_u64.to_ne_bytes());
            image[IMAGE_HEADER_BYTES..][..code.len()].copy_from_slice(code);
            data.extend(image);
        }
        let wrapper = [u64::from(WRAPPER_MAGIC), data.as_ptr() as u64];
        (data, wrapper)
    }

    #[test]
    fn the_image_for_a_card_is_found() {
        let (_data, wrapper) = build(&[(ELF, 75, 0, b""), (ELF, 80, 0, b""), (PTX, 90, 0, b"")]);
        // SAFETY: built as a compiler builds one, and alive until the end.
        let images = unsafe { images(wrapper.as_ptr().cast()) };
        assert_eq!(images.len(), 3);
        let chosen = |own| chosen(&images, own).map(|image| (image.kind, image.architecture));
        assert_eq!(chosen(86), Some((ELF, 80)));
        assert_eq!(chosen(90), Some((PTX, 90)));
        assert_eq!(chosen(70), None);
    }

    #[test]
    fn other_bytes_are_no_fat_binary() {
        // SAFETY: null and other bytes are what it must withstand.
        assert!(unsafe { images([7_u64, 7].as_ptr().cast()) }.is_empty());
        // SAFETY: as above.
        assert!(unsafe { images(std::ptr::null()) }.is_empty());
    }

    #[test]
    fn code_that_can_call_the_system_is_known_by_the_names_in_it() {
        let packed = |code: &[u8]| zstd::bulk::compress(code, 3).unwrap();
        let calls = |flags, code: &[u8]| {
            let (_data, wrapper) = build(&[(ELF, 90, flags, code)]);
            // SAFETY: built as a compiler builds one, and alive until the end.
            let images = unsafe { images(wrapper.as_ptr().cast()) };
            images[0].calls_system()
        };
        assert!(calls(0, b"\x7fELF\0__assertfail\0"));
        assert!(!calls(0, b"\x7fELF\0my__assertfail_not\0"));
        assert!(calls(IS_ZSTD, &packed(b"\x7fELF\0.text\0vprintf\0")));
        assert!(!calls(IS_ZSTD, &packed(b"\x7fELF\0.text\0")));
        assert!(calls(IS_ZSTD, b"not packed at all"));
        assert!(calls(IS_LZ4, b"not looked into"));
    }
}
