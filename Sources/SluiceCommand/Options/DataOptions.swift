internal import ArgumentParser
internal import FlowText
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

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A store on a PostgreSQL server: postgres://USER@HOST/DATABASE (default: $SLUICE_STORE, else “store” of the configuration, else the files of the data directory).",
            valueName: "url"))
    var store: String?

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
        if let store { try Self.refuse(store: store, named: "--store") }
    }

    /// - Throws: ``ValidationError`` for an argument that is not the URL of a store, or has a password.
    static func refuse(store: String, named name: String) throws {
        if store.isEmpty { throw ValidationError("\(name) must not be empty.") }
        do { _ = try StoreLocation(".", store: store) } catch { throw ValidationError(SluiceError(error).message) }
        guard StoreLocation.hasPassword(store) else { return }
        throw ValidationError(
            "\(name) has a password, which every user of this machine can read in the list of processes; leave it to "
                + "~/.pgpass or PGPASSWORD.")
    }

    /// - Throws: ``ValidationError`` for the URL of a database, where a directory is meant.
    static func refuseURL(_ path: String) throws {
        do { _ = try StoreLocation(path) } catch { throw ValidationError(SluiceError(error).message) }
    }

    func directory() -> DataDirectory { DataDirectory(path: path) }

    /// The store: `--store`, else `SLUICE_STORE`, else `store` of the configuration, else the data directory.
    /// - Parameter isService: for a process that keeps its connections, which do not lead through a pooler.
    /// - Throws: ``ExitError`` `configuration` for a setting that cannot be used.
    func location(isService: Bool = false) throws -> StoreLocation {
        if let store { return try StoreLocation(path, store: store) }
        let configured = try ConfiguredStore(self)
        return try configured.location(path, isService: isService)
    }

    /// The store for messages: its data directory, or its URL without a password.
    var place: String { (try? location().name) ?? path }

    /// Opens the queue.
    /// - Parameter create: make its store where there is none, and refuse a backup and a copy: for processes that work on
    ///   it.
    func queue(create: Bool = false) throws -> QueueAccess {
        try opening(create: create) { try QueueAccess(opening: location(isService: create), create: create) }
    }

    /// Opens a client that makes the store where there is none.
    func client(_ registry: OperationRegistry) throws -> SluiceClient {
        try opening(create: true) { try SluiceClient(location(), registry: registry, create: true) }
    }

    /// Gives an error the code `cannotCreate` where the directory of a store does not exist and could not be made.
    func opening<Value>(create: Bool, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            let exitError = ExitError(error)
            var status = stat()
            let isDirectory = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            let isServer = try location().isServer
            guard !isDirectory, exitError.code == .permission || create && !isServer && exitError.code == .input else {
                throw error
            }
            // A server may have refused this user instead.
            if isServer, directory().canBeMade { throw error }
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

/// The store that the environment names, or the configuration: `store: URL`, or `store: {url: URL, direct: URL}`, where
/// `direct` leads past a pooler to the server itself.
struct ConfiguredStore {
    /// The key of `sluice.yaml`.
    static let key = "store"
    static let variable = "SLUICE_STORE"
    static let directVariable = "SLUICE_STORE_DIRECT"

    private var url: String?
    private var direct: String?
    /// Where the URL stands.
    private var place = "\(key) of the configuration"

    /// - Throws: ``ExitError`` `configuration` for a section that cannot be used, and for a password in a file that other
    ///   users can read.
    init(_ data: DataOptions) throws {
        var status = stat()
        // A data directory that cannot be searched is an error of its store.
        let isThere = data.config != nil || lstat(data.directory().configuration, &status) == 0
        if isThere, let path = try ConfigurationFile.path(data, data.directory()) { try read(path) }
        if let variable = try ByteText.variable(Self.variable), !variable.isEmpty {
            (url, direct, place) = (variable, nil, Self.variable)
        }
        if let variable = try ByteText.variable(Self.directVariable), !variable.isEmpty { direct = variable }
    }

    /// - Parameter isService: for a process that keeps its connections.
    func location(_ path: String, isService: Bool) throws -> StoreLocation {
        do {
            // Both are read, so that no process starts with a setting that another one refuses.
            let both = try [url, direct].compactMap { $0 }.map { try StoreLocation(path, store: $0) }
            guard let first = both.first, url != nil else { return try StoreLocation(path) }
            return isService ? both.last ?? first : first
        } catch {
            throw ExitError(.configuration, "\(place): \(ExitError(error).message ?? "\(error)")")
        }
    }

    private mutating func read(_ path: String) throws {
        // Most commands read no other key.
        let tree = try ConfigurationFile.tree(path, with: Self.key)
        guard let section = tree?.members?.first(where: { $0.name == Self.key })?.value else { return }
        if let text = section.text {
            url = text.isEmpty ? nil : text
        } else if let members = section.members {
            for member in members {
                switch (member.name, member.value.text) {
                case ("url", let text?) where !text.isEmpty: url = text
                case ("direct", let text?) where !text.isEmpty: direct = text
                default:
                    throw ExitError(
                        .configuration,
                        "\(path): “\(Self.key)” takes url and direct, each the URL of a store; “\(member.name)” is another "
                            + "key, or has no URL")
                }
            }
            guard url != nil else {
                throw ExitError(
                    .configuration, "\(path): “\(Self.key)” has no url; write store: postgres://USER@HOST/DATABASE")
            }
        } else {
            throw ExitError(
                .configuration, "\(path): “\(Self.key)” takes the URL of a store: store: postgres://USER@HOST/DATABASE")
        }
        guard [url, direct].compactMap({ $0 }).contains(where: StoreLocation.hasPassword), Self.isOpen(path) else {
            return
        }
        throw ExitError(
            .configuration,
            "\(path): “\(Self.key)” has a password, and other users can read the file: chmod 600 corrects it, or leave the "
                + "password to ~/.pgpass")
    }

    /// Whether others can read a file. As for a private key of libpq, the group may where the file belongs to root.
    private static func isOpen(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return status.st_mode & (status.st_uid == 0 && geteuid() != 0 ? 0o037 : 0o077) & 0o066 != 0
    }
}
