//! [`Shrink`]: makes a list that fails shorter while it goes on failing.

/// Leaves out runs of items, long runs first. The caller asks for the next list to try, tries
/// it, and tells whether it failed as well.
#[derive(Debug)]
pub(crate) struct Shrink<T> {
    smallest: Vec<T>,
    tried: Vec<T>,
    run: usize,
    at: usize,
    /// Whether anything was left out since the list was last begun anew.
    shorter: bool,
    tries_left: usize,
}

impl<T: Clone> Shrink<T> {
    /// Begins with a list that fails, and gives up after so many tries.
    pub fn new(failing: Vec<T>, tries_max: usize) -> Self {
        let run = failing.len().div_ceil(2);
        Self {
            smallest: failing,
            tried: Vec::new(),
            run,
            at: 0,
            shorter: false,
            tries_left: tries_max,
        }
    }

    /// The next list to try, or `None` when nothing is left to try.
    pub fn next(&mut self) -> Option<Vec<T>> {
        if self.at >= self.smallest.len() {
            // Single items are tried until none of them can go.
            if self.run > 1 || !self.shorter {
                self.run /= 2;
            }
            (self.at, self.shorter) = (0, false);
        }
        if self.run == 0 || self.tries_left == 0 || self.smallest.is_empty() {
            return None;
        }
        self.tries_left -= 1;
        let end = (self.at + self.run).min(self.smallest.len());
        self.tried = [&self.smallest[..self.at], &self.smallest[end..]].concat();
        Some(self.tried.clone())
    }

    /// What came of the list that [`Shrink::next`] gave.
    pub fn told(&mut self, fails: bool) {
        if fails {
            self.smallest = std::mem::take(&mut self.tried);
            self.shorter = true;
        } else {
            self.at += self.run;
        }
    }

    /// The shortest list that is known to fail.
    pub fn smallest(self) -> Vec<T> {
        self.smallest
    }
}

#[cfg(test)]
mod tests {
    use super::Shrink;

    fn shrunk(from: Vec<u32>, tries_max: usize, fails: impl Fn(&[u32]) -> bool) -> Vec<u32> {
        let mut shrink = Shrink::new(from, tries_max);
        while let Some(list) = shrink.next() {
            shrink.told(fails(&list));
        }
        shrink.smallest()
    }

    #[test]
    fn what_does_not_matter_is_left_out() {
        let needs = |list: &[u32]| list.contains(&3) && list.contains(&77);
        assert_eq!(shrunk((0..100).collect(), 1_000, needs), [3, 77]);
        assert_eq!(shrunk((0..100).collect(), 1_000, |_| true), [0; 0]);
        assert_eq!(shrunk(vec![1, 2], 1_000, |list| list.len() == 2), [1, 2]);
    }

    #[test]
    fn it_gives_up_after_so_many_tries_with_a_list_that_fails() {
        let needs = |list: &[u32]| list.contains(&3);
        let left = shrunk((0..100).collect(), 2, needs);
        assert_eq!((left.len(), left.contains(&3)), (50, true));
    }
}
