internal import ArgumentParser
internal import Commands

/// A batch on the command line, by its whole UUID.
struct BatchArgument: ExpressibleByArgument {
    let id: CommandID

    init?(argument: String) {
        guard let id = CommandID(argument) else { return nil }
        self.id = id
    }
}
