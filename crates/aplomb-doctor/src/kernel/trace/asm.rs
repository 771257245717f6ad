//! An assembler for the kernel's programs: instructions one by one, jumps by label.
//!
//! What always holds: a label is bound once, and every jump that names one lands on it; what is
//! assembled twice is the same. The kernel's verifier judges what the instructions do.

/// A register. `R0` has what a call returns, `R1` and those that follow its arguments, which it
/// destroys; `R6` to `R9` are kept over calls; `Frame` is the end of 512 bytes of stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    Frame,
}

/// How many bytes a load or a store moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Four,
    Eight,
}

/// When a jump is taken; numbers are compared without signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Equal = 0x10,
    AnyBit = 0x40,
    Other = 0x50,
    Below = 0xa0,
}

/// What is done to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sum {
    Add = 0x00,
    Subtract = 0x10,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Set = 0xb0,
}

/// A function of the kernel that programs may call, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Helper {
    MapLookup = 1,
    MapUpdate = 2,
    MapDelete = 3,
    Nanoseconds = 5,
    CurrentPidTgid = 14,
    CurrentName = 16,
    OwnStack = 67,
    RingReserve = 131,
    RingSubmit = 132,
    TaskStack = 141,
    TaskRegisters = 175,
}

/// A place that jumps lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// A program in the making.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    code: Vec<u64>,
    /// Where each label is bound.
    labels: Vec<Option<usize>>,
    /// Jumps, and where each leads.
    jumps: Vec<(usize, Label)>,
}

// Classes of instructions, and what goes with them.
const LOAD_WIDE: u8 = 0x18;
const LOAD: u8 = 0x61;
const STORE: u8 = 0x63;
const STORE_NUMBER: u8 = 0x62;
const ATOMIC: u8 = 0xdb;
const ARITHMETIC: u8 = 0x07;
const JUMP: u8 = 0x05;
const BY_REGISTER: u8 = 0x08;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const EIGHT_BYTES: u8 = 0x18;
/// What a wide load loads, in the place of its source: a map, or the address of a map's value.
const A_MAP: u8 = 1;
const A_VALUE: u8 = 2;

impl Assembler {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// A label that is bound later.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Binds a label to the instruction that comes next.
    pub(super) fn bind(&mut self, label: Label) {
        let before = self.labels[label.0].replace(self.code.len());
        assert!(before.is_none(), "a label is bound once");
    }

    /// `to = what is at from + offset`.
    pub(super) fn load(&mut self, size: Size, to: Register, from: Register, offset: i16) {
        self.push(LOAD | size.bits(), to as u8, from as u8, offset, 0);
    }

    /// `what is at to + offset = from`.
    pub(super) fn store(&mut self, size: Size, to: Register, offset: i16, from: Register) {
        self.push(STORE | size.bits(), to as u8, from as u8, offset, 0);
    }

    /// The same of a number.
    pub(super) fn store_number(&mut self, size: Size, to: Register, offset: i16, number: i32) {
        self.push(STORE_NUMBER | size.bits(), to as u8, 0, offset, number);
    }

    /// Adds `by` to the eight bytes at `to + offset`, whatever other processors do there.
    pub(super) fn add_atomically(&mut self, to: Register, offset: i16, by: Register) {
        self.push(ATOMIC, to as u8, by as u8, offset, 0);
    }

    /// `to = to (sum) number`.
    pub(super) fn number(&mut self, sum: Sum, to: Register, number: i32) {
        self.push(ARITHMETIC | sum as u8, to as u8, 0, 0, number);
    }

    /// `to = to (sum) from`.
    pub(super) fn register(&mut self, sum: Sum, to: Register, from: Register) {
        self.push(ARITHMETIC | BY_REGISTER | sum as u8, to as u8, from as u8, 0, 0);
    }

    /// `to = the map behind this descriptor`.
    pub(super) fn map(&mut self, to: Register, descriptor: i32) {
        self.wide(to, A_MAP, descriptor, 0);
    }

    /// `to = the address, so far into it, of the one value of the array behind this descriptor`.
    pub(super) fn value(&mut self, to: Register, descriptor: i32, offset: i32) {
        self.wide(to, A_VALUE, descriptor, offset);
    }

    /// Jumps where `left` compares so with a number.
    pub(super) fn jump(&mut self, when: When, left: Register, number: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(JUMP | when as u8, left as u8, 0, 0, number);
    }

    /// Jumps where two registers compare so.
    pub(super) fn jump_by(&mut self, when: When, left: Register, right: Register, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(JUMP | BY_REGISTER | when as u8, left as u8, right as u8, 0, 0);
    }

    /// Jumps.
    pub(super) fn go(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(JUMP, 0, 0, 0, 0);
    }

    pub(super) fn call(&mut self, helper: Helper) {
        self.push(CALL, 0, 0, 0, helper as i32);
    }

    /// Ends the program; its answer, in `R0`, is 0.
    pub(super) fn exit(&mut self) {
        self.number(Sum::Set, Register::R0, 0);
        self.push(EXIT, 0, 0, 0, 0);
    }

    /// The instructions, with their jumps.
    pub(super) fn finish(mut self) -> Vec<u64> {
        for (at, Label(label)) in self.jumps {
            let to = self.labels[label].expect("a label that is jumped to is bound");
            let by = i16::try_from(to as i64 - at as i64 - 1).expect("programs are short");
            self.code[at] |= u64::from(by as u16) << 16;
        }
        self.code
    }

    fn wide(&mut self, to: Register, kind: u8, descriptor: i32, offset: i32) {
        self.push(LOAD_WIDE, to as u8, kind, 0, descriptor);
        self.push(0, 0, 0, 0, offset);
    }

    /// One instruction as the kernel has it in memory, the lowest byte first.
    fn push(&mut self, code: u8, to: u8, from: u8, offset: i16, number: i32) {
        let registers = u64::from(from << 4 | to);
        let offset = u64::from(offset as u16);
        self.code.push(u64::from(code) | registers << 8 | offset << 16 | u64::from(number as u32) << 32);
    }
}

impl Size {
    const fn bits(self) -> u8 {
        match self {
            Self::Four => 0,
            Self::Eight => EIGHT_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_as_the_kernel_has_them() {
        let mut code = Assembler::new();
        code.register(Sum::Set, Register::R6, Register::R1);
        code.load(Size::Eight, Register::R7, Register::R6, 8);
        code.load(Size::Four, Register::R1, Register::R7, 1268);
        code.store(Size::Four, Register::Frame, -4, Register::R1);
        code.store_number(Size::Eight, Register::R8, 16, -1);
        code.add_atomically(Register::R0, 0, Register::R1);
        code.call(Helper::Nanoseconds);
        code.exit();
        let bytes: Vec<[u8; 8]> = code.finish().into_iter().map(u64::to_le_bytes).collect();
        assert_eq!(
            bytes,
            [
                [0xbf, 0x16, 0, 0, 0, 0, 0, 0],
                [0x79, 0x67, 8, 0, 0, 0, 0, 0],
                [0x61, 0x71, 0xf4, 0x04, 0, 0, 0, 0],
                [0x63, 0x1a, 0xfc, 0xff, 0, 0, 0, 0],
                [0x7a, 0x08, 16, 0, 0xff, 0xff, 0xff, 0xff],
                [0xdb, 0x10, 0, 0, 0, 0, 0, 0],
                [0x85, 0, 0, 0, 5, 0, 0, 0],
                [0xb7, 0, 0, 0, 0, 0, 0, 0],
                [0x95, 0, 0, 0, 0, 0, 0, 0],
            ]
        );
    }

    #[test]
    fn a_jump_counts_from_the_instruction_behind_it_also_over_wide_ones() {
        let mut code = Assembler::new();
        let (back, out) = (code.label(), code.label());
        code.bind(back);
        code.jump(When::Other, Register::R1, 7, out);
        code.map(Register::R1, 3);
        code.value(Register::R2, 4, 8);
        code.jump_by(When::Below, Register::R1, Register::R2, back);
        code.go(out);
        code.bind(out);
        code.exit();
        let code = code.finish();
        let by = |at: usize| (code[at] >> 16) as u16 as i16;
        assert_eq!((by(0), by(5), by(6)), (6, -6, 0));
        assert_eq!(code[1].to_le_bytes(), [0x18, 0x11, 0, 0, 3, 0, 0, 0]);
        assert_eq!(code[3].to_le_bytes(), [0x18, 0x22, 0, 0, 4, 0, 0, 0]);
        assert_eq!(code[4].to_le_bytes(), [0, 0, 0, 0, 8, 0, 0, 0]);
        assert_eq!(code[5].to_le_bytes()[0], 0xad);
    }
}
