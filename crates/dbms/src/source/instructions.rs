//! Whether a program has instructions of some processors only. From 8.3 on RocksDB does not look
//! for them at run time, so a build that has them is another one (its HISTORY.md, 8.3.0).

use goblin::elf::Elf;
use goblin::elf::header::{EM_AARCH64, EM_X86_64};
use goblin::elf::program_header::{PF_X, PT_LOAD};
use memchr::memmem;

/// An instruction in one place may be bytes of something else.
const PLACES: usize = 2;

/// Whether a program computes CRC32C by the processor's own instruction; none for a processor that
/// is not known here.
pub(super) fn has_crc32(bytes: &[u8], elf: &Elf) -> Option<bool> {
    let count = match elf.header.e_machine {
        EM_X86_64 => of_x86,
        EM_AARCH64 => of_arm,
        _ => return None,
    };
    let code = elf.program_headers.iter().filter(|one| one.p_type == PT_LOAD);
    let code = code.filter(|one| one.p_flags & PF_X != 0);
    let code = code.filter_map(|one| bytes.get(one.file_range()));
    Some(code.map(count).sum::<usize>() >= PLACES)
}

/// `F2 [REX] 0F 38 F0` or `F1` (Intel's manual, volume 2, CRC32).
fn of_x86(code: &[u8]) -> usize {
    let opcode = memmem::find_iter(code, &[0x0f, 0x38]);
    let is_crc = |at: &usize| {
        let before = |back: usize| at.checked_sub(back).and_then(|at| code.get(at)).copied();
        let is_prefixed = match before(1) {
            Some(0xf2) => true,
            Some(0x40..=0x4f) => before(2) == Some(0xf2),
            _ => false,
        };
        is_prefixed && matches!(code.get(at + 2), Some(0xf0 | 0xf1))
    };
    opcode.filter(is_crc).count()
}

/// `CRC32CB`, `CRC32CH`, `CRC32CW`, `CRC32CX` (Arm's manual for A-profile, C6.2).
fn of_arm(code: &[u8]) -> usize {
    let words = code.chunks_exact(4).map(|word| {
        u32::from_le_bytes(word.try_into().expect("a chunk has as many bytes as was asked for"))
    });
    words.filter(|word| word & 0x7fe0_f000 == 0x1ac0_5000).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_known_by_its_bytes() {
        // crc32b %cl,%eax; crc32q (%rdx),%rax; crc32l %ecx,%r8d
        let code = [
            [0xf2, 0x0f, 0x38, 0xf0, 0xc1, 0x90].as_slice(),
            &[0xf2, 0x48, 0x0f, 0x38, 0xf1, 0x02],
            &[0xf2, 0x44, 0x0f, 0x38, 0xf1, 0xc1],
        ];
        assert_eq!(of_x86(&code.concat()), 3);
        // movbe, and pshufb: other instructions of that opcode map.
        assert_eq!(of_x86(&[0x0f, 0x38, 0xf0, 0x02, 0x66, 0x0f, 0x38, 0x00, 0xc1]), 0);
        assert_eq!(of_x86(&[0x0f, 0x38]), 0);
        // crc32cx w0, w1, x2; crc32cb w0, w1, w2; crc32x w0, w1, x2 (another polynomial)
        let words: [u32; 3] = [0x9ac2_5c20, 0x1ac2_5020, 0x9ac2_4c20];
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(of_arm(&code), 2);
    }
}
