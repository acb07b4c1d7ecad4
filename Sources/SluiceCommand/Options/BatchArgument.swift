internal import ArgumentParser
internal import Commands

/// A batch on the command line, by its whole UUID.
struct BatchArgument: ExpressibleByArgument {
    let id: CommandID

    init?(argument: String) {
        guard let id = CommandID(argument) else {
            ArgumentForm.expect("the whole UUID of a batch")
            return nil
        }
        self.id = id
    }
}
