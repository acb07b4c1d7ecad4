internal import ArgumentParser
internal import Commands
internal import Queue

/// The value of `--after`: an id, and the end that is waited for.
struct DependencyArgument: ExpressibleByArgument {
    let dependency: Dependency

    init?(argument: String) {
        guard let dependency = Dependency(text: argument) else {
            ArgumentForm.expect("the whole UUID of a command, or one with a condition as in UUID:end")
            return nil
        }
        self.dependency = dependency
    }
}
