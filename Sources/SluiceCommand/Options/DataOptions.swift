internal import ArgumentParser
internal import Glibc
internal import Sluice
internal import Store
internal import Work

/// Where the data is.
struct DataOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("The data directory (default: $SLUICE_DATA, else ./sluice-data).", valueName: "dir"),
        completion: .directory)
    var data: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The configuration (default: sluice.yaml in the data directory): up, coordinator and worker read it.",
            valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    /// `--data`, else `SLUICE_DATA`, else the default.
    private func chosenPath() throws -> String {
        if let data { return data }
        guard let variable = try ByteText.variable("SLUICE_DATA"), !variable.isEmpty else { return "./sluice-data" }
        return variable
    }

    /// Known to be good: ``validate()`` has refused any other.
    var path: String { (try? chosenPath()) ?? "./sluice-data" }

    func validate() throws {
        if try chosenPath().isEmpty { throw ValidationError("--data must not be empty.") }
    }

    func directory() -> DataDirectory { DataDirectory(path: path) }

    /// Opens the store.
    /// - Parameter create: make it where there is none.
    func store(create: Bool = false) throws -> (DataDirectory, SQLiteStore) {
        let directory = directory()
        return (directory, try opening { try SQLiteStore(directory: directory, create: create) })
    }

    /// Opens a client that makes the store where there is none.
    func client(_ registry: OperationRegistry) throws -> SluiceClient {
        try opening { try SluiceClient(data: path, registry: registry, create: true) }
    }

    /// Tells a directory that cannot be made from one that may not be used.
    func opening<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            let exitError = ExitError(error)
            var status = stat()
            let isDirectory = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            guard !isDirectory, exitError.code == .permission || exitError.message?.contains("cannot be made") == true
            else { throw error }
            throw ExitError(exitError.code == .cannotWrite ? .cannotWrite : .cannotCreate, exitError.message)
        }
    }

    /// Names the shards that were passed over because they are of no use: what was printed is without them.
    /// - Throws: a ``ExitError``, of which all has been said, where one is somebody else's or of a newer version: nothing
    ///   is damaged then, but it is the wrong file or the wrong program.
    func warn(of store: SQLiteStore) throws {
        Output.flush()
        let problems = store.problems
        for problem in problems { Diagnostics.say(problem.message) }
        if problems.contains(where: { $0.code == .foreign }) { throw ExitError(.data, nil) }
    }
}
