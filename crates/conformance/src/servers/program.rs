//! [`Program`]: where the program of a server is found.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::ServerError;

/// The program of a kind of server, and where it may be.
#[derive(Debug, Clone)]
pub struct Program {
    name: &'static str,
    variable: &'static str,
    carried: Option<String>,
    advice: &'static str,
}

impl Program {
    /// A program of this name on the `PATH`; `variable` is the name of an environment variable
    /// that may hold the path of another one, and `advice` says what to do without any.
    #[must_use]
    pub fn new(name: &'static str, variable: &'static str, advice: &'static str) -> Self {
        Self { name, variable, carried: None, advice }
    }

    /// Also looks for this path below a folder `servers` in the target folder of the build,
    /// where `scripts/test` unpacks what no system has a package for.
    #[must_use]
    pub fn carried_as(mut self, path: String) -> Self {
        self.carried = Some(path);
        self
    }

    /// The path of the program: by the variable, else on the `PATH`, else in the target folder.
    ///
    /// # Errors
    /// When there is none; the text says what to do about it.
    pub fn find(&self) -> Result<PathBuf, ServerError> {
        let folders: Vec<PathBuf> = match env::current_exe() {
            Ok(test) => test.ancestors().map(|folder| folder.join("servers")).collect(),
            Err(_) => Vec::new(),
        };
        self.find_with(env::var_os(self.variable), env::var_os("PATH"), &folders)
    }

    fn find_with(
        &self,
        chosen: Option<OsString>,
        path: Option<OsString>,
        folders: &[PathBuf],
    ) -> Result<PathBuf, ServerError> {
        let Self { name, variable, advice, .. } = self;
        if let Some(chosen) = chosen.map(PathBuf::from) {
            let text = || format!("{variable} names no program: {}", chosen.display());
            return if is_program(&chosen) { Ok(chosen) } else { Err(ServerError::new(text())) };
        }
        let path = path.unwrap_or_default();
        let on_path = env::split_paths(&path).map(|folder| folder.join(name));
        let carried = self.carried.iter();
        let carried = carried.flat_map(|path| folders.iter().map(move |folder| folder.join(path)));
        on_path.chain(carried).find(|file| is_program(file)).ok_or_else(|| {
            ServerError::new(format!("there is no {name}: {advice}, or set {variable} to its path"))
        })
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder with `a/served`, which can be run, and `b/served`, which cannot.
    fn staged() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let root = tempfile::tempdir().expect("the system has a folder for temporary files");
        let files = ["a", "b"].map(|folder| root.path().join(folder).join("served"));
        for (file, mode) in files.iter().zip([0o755, 0o644]) {
            fs::create_dir(file.parent().expect("it was joined")).expect("a new folder");
            fs::write(file, "").expect("a new file");
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("our own file");
        }
        let [good, bad] = files;
        (root, good, bad)
    }

    fn program() -> Program {
        Program::new("served", "LH_SERVED", "install it")
    }

    #[test]
    fn a_program_is_what_can_be_run() {
        let (_root, good, bad) = staged();
        let path = env::join_paths([bad.parent(), good.parent()].map(Option::unwrap));
        let found = program().find_with(None, path.ok(), &[]);
        assert_eq!(found.expect("it is on the path"), good);
    }

    #[test]
    fn the_variable_is_the_last_word() {
        let (_root, good, bad) = staged();
        let path = Some(good.parent().unwrap().into());
        let found = program().find_with(Some(bad.clone().into()), path, &[]);
        let text = found.expect_err("it names what cannot be run").to_string();
        assert_eq!(text, format!("LH_SERVED names no program: {}", bad.display()));
        let found = program().find_with(Some(good.clone().into()), None, &[]);
        assert_eq!(found.expect("it names a program"), good);
    }

    #[test]
    fn a_carried_program_is_found_and_else_there_is_advice() {
        let (root, good, _) = staged();
        let folders = [root.path().join("none"), root.path().to_owned()];
        let carried = program().carried_as("a/served".into());
        let found = carried.find_with(None, None, &folders);
        assert_eq!(found.expect("it is below the second folder"), good);
        let text = program().find_with(None, None, &folders).expect_err("not carried").to_string();
        assert_eq!(text, "there is no served: install it, or set LH_SERVED to its path");
    }
}
