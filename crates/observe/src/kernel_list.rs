//! Lists of CPUs and of memory nodes as the kernel writes and reads them (cpuset(7), "List
//! format"): `0-2,5`.

/// No machine has a CPU or a node with such a number.
const BEYOND: usize = 1 << 16;

/// Each number once, in order.
pub fn kernel_list(numbers: &[usize]) -> String {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    let runs = numbers.chunk_by(|left, right| left + 1 == *right);
    let run = |run: &[usize]| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    runs.map(run).collect::<Vec<_>>().join(",")
}

/// The numbers in a list, in order; none if it is not one, or has none.
pub fn from_kernel_list(list: &str) -> Option<Vec<usize>> {
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number < BEYOND);
    let mut numbers = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_listed_as_the_kernel_does() {
        assert_eq!(kernel_list(&[5, 0, 1, 2]), "0-2,5");
        assert_eq!(kernel_list(&[3, 3]), "3");
        assert_eq!(kernel_list(&[]), "");
    }

    #[test]
    fn a_list_is_read_as_it_was_written_and_nothing_else_is() {
        for list in ["0", "0-2,5", "7,9-10"] {
            assert_eq!(kernel_list(&from_kernel_list(list).unwrap()), list);
        }
        assert_eq!(from_kernel_list("5,0-2,1"), Some(vec![0, 1, 2, 5]));
        for no in ["", ",", "0,", "-", "1-", "-1", "2-1", "a", "0-1-2", "0-99999999999", "+"] {
            assert_eq!(from_kernel_list(no), None, "{no}");
        }
    }
}
