internal import ArgumentParser
internal import Glibc
internal import Host
internal import Membership
internal import Operations
internal import Queue

/// The data directory and its configuration.
struct DataOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("The data directory (default: $SLUICE_DATA, else ./sluice-data).", valueName: "dir"),
        completion: .directory)
    var data: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The configuration (default: sluice.yaml in the data directory): up, coordinator, worker and door read it.",
            valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    /// `--data`, else `SLUICE_DATA`, else the default.
    private func chosenPath() throws -> String {
        if let data { return data }
        guard let variable = try ByteText.variable("SLUICE_DATA"), !variable.isEmpty else { return "./sluice-data" }
        return variable
    }

    /// The data directory. ``validate()`` has refused an empty one, and what is not a directory.
    var path: String { (try? chosenPath()) ?? "./sluice-data" }

    func validate() throws {
        if try chosenPath().isEmpty { throw ValidationError("--data must not be empty.") }
        try Self.refuseURL(chosenPath())
    }

    /// - Throws: ``ValidationError`` for the URL of a database, where a directory is meant.
    static func refuseURL(_ path: String) throws {
        do { _ = try StoreLocation(path) } catch { throw ValidationError(SluiceError(error).message) }
    }

    func directory() -> DataDirectory { DataDirectory(path: path) }

    /// Opens the queue.
    /// - Parameter create: make its store where there is none, and refuse a backup and a copy: for processes that work on
    ///   it.
    func queue(create: Bool = false) throws -> QueueAccess {
        try opening(create: create) { try QueueAccess(opening: StoreLocation(path), create: create) }
    }

    /// Opens a client that makes the store where there is none.
    func client(_ registry: OperationRegistry) throws -> SluiceClient {
        try opening(create: true) { try SluiceClient(data: path, registry: registry, create: true) }
    }

    /// Gives an error the code `cannotCreate` where the directory does not exist and could not be made.
    func opening<Value>(create: Bool, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            let exitError = ExitError(error)
            var status = stat()
            let isDirectory = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            guard !isDirectory, exitError.code == .permission || create && exitError.code == .input else { throw error }
            throw ExitError(.cannotCreate, exitError.message)
        }
    }

    /// Prints that the store is a backup, and the problems of shards that could not be read: the output is
    /// without their commands.
    /// - Throws: ``ExitError`` `data` without a message where a shard is foreign or of a newer version.
    ///   Nothing is damaged then; the file or the program is the wrong one.
    func warn(of queue: QueueAccess) throws {
        Output.flush()
        if let time = queue.backupTime {
            Diagnostics.say("\(path) is a backup of \(time); nothing runs on it until “sluice restore” has put it back")
        }
        let problems = queue.problems
        for problem in problems { Diagnostics.say(problem.message) }
        if problems.contains(where: { $0.code == .foreignStore }) { throw ExitError(.data, nil) }
    }
}
