internal import Glibc
internal import Host
internal import Membership
internal import Yams

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
        guard let text = SmallFile.read(path), text.utf8.contains(Self.key.utf8),
            let section = try? Yams.compose(yaml: text)?.mapping?[Self.key]
        else { return }
        if let text = section.string {
            url = text.isEmpty ? nil : text
        } else if let mapping = section.mapping {
            for (name, value) in mapping {
                switch (name.string, value.string) {
                case ("url", let text?) where !text.isEmpty: url = text
                case ("direct", let text?) where !text.isEmpty: direct = text
                default:
                    throw ExitError(
                        .configuration,
                        "\(path): “\(Self.key)” takes url and direct, each the URL of a store; “\(name.string ?? "")” is another "
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
