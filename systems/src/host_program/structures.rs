//! Structures in C layout, and access to their fields in the bytes of a buffer.

use std::borrow::Cow;
use std::sync::Arc;

use warpweave_inputs::reference::Layout;
use warpweave_inputs::{ElementType, Name};
use warpweave_params::{Diagnostic, Diagnostics, Placed, name_hint};

use super::description::{Argument, Command, FieldValue, Record};
use super::unknown;

/// Size in bytes of a word of a buffer.
const WORD_BYTES: usize = 4;

/// Structure type with the offsets of its fields.
#[derive(Debug)]
pub(super) struct Structure {
    pub(super) name: Name,
    pub(super) fields: Vec<Field>,
    /// Stride between structures in bytes, a multiple of the largest field's size.
    pub(super) bytes: usize,
}

/// Field of a structure, with its type and offset.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) element: ElementType,
    /// Offset from the structure's start, in bytes.
    pub(super) offset: usize,
}

impl Structure {
    /// Assigns each field the next offset that is a multiple of its size.
    pub(super) fn new(
        name: Name,
        fields: impl IntoIterator<Item = (Name, ElementType)>,
    ) -> Result<Self, Diagnostic> {
        let mut laid_out: Vec<Field> = Vec::new();
        let (mut end, mut alignment) = (0_usize, 1);
        for (field, element) in fields {
            if laid_out.iter().any(|earlier| earlier.name == field.value) {
                let message = format!(
                    "structure `{}` has two fields `{}`",
                    name.value, field.value
                );
                return Err(field.error(message));
            }
            let offset = end.next_multiple_of(element.bytes());
            end = offset + element.bytes();
            alignment = alignment.max(element.bytes());
            laid_out.push(Field {
                name: field.value,
                element,
                offset,
            });
        }
        if laid_out.is_empty() {
            let message = format!("structure `{}` has no fields", name.value);
            let hint = "name them with their types: { \"x\": F32, \"y\": F32 }";
            return Err(name.error(message).hint(hint));
        }
        Ok(Self {
            name,
            fields: laid_out,
            bytes: end.next_multiple_of(alignment),
        })
    }

    /// Returns the names of the fields in order.
    pub(super) fn field_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.fields.iter().map(|field| field.name.as_str())
    }

    /// Returns its fields as columns of a buffer with `length` structures.
    pub(super) fn columns(
        &self,
        buffer: usize,
        length: usize,
    ) -> impl Iterator<Item = (&str, Column)> {
        self.fields.iter().map(move |field| {
            let column = Column {
                buffer,
                element: field.element,
                length,
                first: field.offset,
                stride: self.bytes,
            };
            (field.name.as_str(), column)
        })
    }

    /// Describes the offsets of its fields, for messages.
    pub(super) fn places(&self) -> String {
        let place =
            |field: &Field| format!("{} {:?} at {}", field.name, field.element, field.offset);
        let places: Vec<String> = self.fields.iter().map(place).collect();
        let name = &self.name.value;
        format!(
            "`{name}` has {}, {} bytes in all",
            places.join(", "),
            self.bytes
        )
    }

    /// Returns the fields of a record in order, each with its type.
    fn lay_out(&self, record: &Record) -> Result<Vec<Placed<Argument>>, Diagnostics> {
        let mut problems = Diagnostics::new();
        let name = &self.name.value;
        for (field, _) in &record.fields {
            if !self.field_names().any(|known| known == field.value) {
                let message = format!("structure `{name}` has no field `{}`", field.value);
                let hint = name_hint(&field.value, "fields", self.field_names());
                problems.push(field.error(message).hint(hint));
            }
        }
        let mut arguments = Vec::new();
        for field in &self.fields {
            let Some((_, given)) = record.fields.get(&field.name) else {
                let message = format!("field `{}` of structure `{name}` is missing", field.name);
                problems.push(record.structure.error(message).hint(self.places()));
                continue;
            };
            arguments.extend(problems.take(field.argument(given)));
        }
        problems.into_result(arguments)
    }
}

impl Field {
    /// Returns the value that a kernel receives for the field.
    fn argument(&self, given: &FieldValue) -> Result<Placed<Argument>, Diagnostic> {
        let value = match given {
            FieldValue::Number(value) => value,
            FieldValue::Address(argument) => return self.address(argument),
        };
        let typed = match self.element {
            ElementType::U8 => Argument::U8,
            ElementType::S8 => Argument::S8,
            ElementType::U16 => Argument::U16,
            ElementType::S16 => Argument::S16,
            ElementType::U32 => Argument::U32,
            ElementType::S32 => Argument::S32,
            ElementType::U64 => Argument::U64,
            ElementType::S64 => Argument::S64,
            ElementType::F16 => Argument::F16,
            ElementType::BF16 => Argument::BF16,
            ElementType::F32 => Argument::F32,
            ElementType::F64 => Argument::F64,
        };
        Ok(Placed {
            value: typed(value.clone()),
            place: value.place.clone(),
        })
    }

    fn address(&self, argument: &Placed<Argument>) -> Result<Placed<Argument>, Diagnostic> {
        let is_address = matches!(
            argument.value,
            Argument::Buffer(_) | Argument::BufferAt { .. } | Argument::Texture(_)
        );
        if !is_address {
            let message = format!(
                "the type of field `{}` is given by its structure",
                self.name
            );
            let hint = "write only the number, or Buffer(\"name\") for an address";
            return Err(argument.error(message).hint(hint));
        }
        if self.element != ElementType::U64 {
            let message = format!(
                "field `{}` of type {:?} cannot hold an address",
                self.name, self.element
            );
            let hint = "declare a field that holds an address as U64";
            return Err(argument.error(message).hint(hint));
        }
        Ok(argument.clone())
    }
}

/// Finds a structure type by its name.
pub(super) fn find<'s>(
    structures: &'s [Arc<Structure>],
    name: &Name,
) -> Result<&'s Arc<Structure>, Diagnostic> {
    let found = structures
        .iter()
        .find(|structure| structure.name.value == name.value);
    let names = structures.iter().map(|known| known.name.value.as_str());
    found.ok_or_else(|| unknown("structure", name, names))
}

/// Lays out the records in the arguments of commands.
pub(super) fn lay_out(
    commands: &mut [Placed<Command>],
    structures: &[Arc<Structure>],
    problems: &mut Diagnostics,
) {
    for command in commands {
        match &mut command.value {
            Command::Launch(launch) => records(&mut launch.arguments, structures, problems),
            Command::WriteVariable { values, .. } => records(values, structures, problems),
            Command::Repeat { body, .. } | Command::RepeatUntilZero { body, .. } => {
                lay_out(body, structures, problems);
            }
            Command::If {
                body, otherwise, ..
            } => {
                lay_out(body, structures, problems);
                lay_out(otherwise, structures, problems);
            }
            _ => {}
        }
    }
}

fn records(
    arguments: &mut [Placed<Argument>],
    structures: &[Arc<Structure>],
    problems: &mut Diagnostics,
) {
    for argument in arguments {
        match &mut argument.value {
            Argument::Struct(fields) => records(fields, structures, problems),
            Argument::Record(record) => {
                let structure = problems.take(find(structures, &record.structure));
                let fields = structure.and_then(|it| problems.take(it.lay_out(record)));
                record.laid_out = fields.unwrap_or_default();
            }
            _ => {}
        }
    }
}

/// Element type of a buffer, with its layout.
#[derive(Clone, Debug)]
pub(super) enum Elements {
    Numbers(ElementType),
    Structures(Arc<Structure>),
}

impl Elements {
    /// Returns the stride between elements in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Numbers(element) => element.bytes(),
            Self::Structures(structure) => structure.bytes,
        }
    }
}

/// Column of equally spaced numbers of one type in a buffer: its elements, or a field of its
/// structures.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// Index of the buffer in the program.
    pub(super) buffer: usize,
    pub(super) element: ElementType,
    pub(super) length: usize,
    /// Offset of the first number, in bytes.
    pub(super) first: usize,
    /// Stride between consecutive numbers, in bytes.
    pub(super) stride: usize,
}

impl Column {
    pub(super) fn layout(&self) -> Layout {
        Layout {
            element: self.element,
            length: self.length,
        }
    }

    /// Returns the offset of a number in the buffer, in bytes.
    pub(super) fn offset(&self, index: usize) -> u64 {
        (self.first + index * self.stride) as u64
    }

    /// Extracts the numbers of the column from the words of the buffer.
    pub(super) fn gather<'w>(&self, words: &'w [u32]) -> Cow<'w, [u32]> {
        if self.stride == self.element.bytes() {
            return Cow::Borrowed(words);
        }
        let pattern = |index| {
            // Fields are aligned to their size, so only two-word fields span several words.
            let at = self.offset(index) as usize;
            let word = at / WORD_BYTES;
            match self.element.bytes() {
                8 => self.element.pattern(&words[word..word + 2], 0),
                bytes => {
                    let within = at % WORD_BYTES / bytes;
                    self.element.pattern(&words[word..=word], within)
                }
            }
        };
        Cow::Owned(self.element.pack((0..self.length).map(pattern)))
    }

    /// Writes the numbers of the column into the bytes of the buffer.
    pub(super) fn scatter(&self, numbers: impl IntoIterator<Item = u64>, bytes: &mut [u8]) {
        let size = self.element.bytes();
        for (index, pattern) in numbers.into_iter().enumerate() {
            let at = self.offset(index) as usize;
            bytes[at..at + size].copy_from_slice(&pattern.to_le_bytes()[..size]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warpweave_inputs::words_of_bytes;

    use super::*;

    const TYPES: &[ElementType] = &[
        ElementType::U8,
        ElementType::S16,
        ElementType::F32,
        ElementType::F64,
    ];

    fn structure(types: &[ElementType]) -> Structure {
        let fields = types.iter().enumerate();
        let fields = fields.map(|(at, element)| (format!("f{at}").into(), *element));
        Structure::new("S".into(), fields).unwrap()
    }

    #[test]
    fn fields_lie_as_c_lays_them_out() {
        use ElementType::{F32, F64, S16, U8, U32};
        let offsets = |types: &[ElementType]| {
            let structure = structure(types);
            let fields = structure.fields.iter().map(|field| field.offset);
            (fields.collect::<Vec<_>>(), structure.bytes)
        };
        assert_eq!(offsets(&[U8, F64, S16]), (vec![0, 8, 16], 24));
        assert_eq!(offsets(&[U8, U8, S16, F32]), (vec![0, 1, 2, 4], 8));
        assert_eq!(offsets(&[U32, U8]), (vec![0, 4], 8));
        assert_eq!(offsets(&[U8, U8, U8]), (vec![0, 1, 2], 3));
    }

    proptest! {
        #[test]
        fn what_goes_into_its_places_comes_out_of_them(
            types in prop::collection::vec(prop::sample::select(TYPES), 1..6),
            length in 0_usize..9,
            seed: u64,
        ) {
            let structure = structure(&types);
            let mut bytes = vec![0xa5; structure.bytes * length];
            let patterns = |at: usize, field: &Field| -> Vec<u64> {
                let mixed = |index: u64| seed.rotate_left(index as u32 * 7 + at as u32 * 13) ^ index;
                let cut = u64::MAX >> (64 - 8 * field.element.bytes());
                (0..length as u64).map(|index| mixed(index) & cut).collect()
            };
            let columns: Vec<Column> = structure.columns(0, length).map(|(_, column)| column).collect();
            for (at, field) in structure.fields.iter().enumerate() {
                columns[at].scatter(patterns(at, field), &mut bytes);
            }
            let words = words_of_bytes(&bytes);
            for (at, field) in structure.fields.iter().enumerate() {
                let gathered = columns[at].gather(&words);
                for (index, pattern) in patterns(at, field).into_iter().enumerate() {
                    prop_assert_eq!(field.element.pattern(&gathered, index), pattern);
                }
            }
        }
    }
}
