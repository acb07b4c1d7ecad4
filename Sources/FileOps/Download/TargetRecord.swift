internal import CLinux
internal import Commands
internal import Crypto
internal import Glibc
internal import Transfers

/// The origin of a downloaded file, in its extended attribute `user.sluice.download`:
///
/// ```
/// {"command": "01998b5e-…", "source": "<hex>", "etag": "\"abc\"", "lastModified": "…",
///  "size": 1048576, "modified": 1763000000000000000}
/// ```
///
/// `source` is the SHA-256 of the URL, which may contain a secret: attributes have the readers of their file.
///
/// Size and time of modification, in nanoseconds, are those of the file when it was published: a file that was
/// changed since is not the version of its server any more. File systems without such attributes keep no
/// record, and “ifChanged” then downloads the file.
struct TargetRecord: Sendable, Equatable {
    static let attribute = "user.sluice.download"
    private static let maxBytes = 4096

    /// The command that published the file.
    var command: CommandID
    /// SHA-256 of the URL, in hexadecimal.
    var source: String
    var validators: DownloadValidators

    /// Stores the record, as far as the file system can. Blocks.
    func store(in descriptor: CInt) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return }
        var members: [JSONValue.Member] = [
            .init("command", .string(command.description)), .init("source", .string(source)),
        ]
        if let tag = validators.tag { members.append(.init("etag", .string(tag.text))) }
        if let modified = validators.lastModified { members.append(.init("lastModified", .string(modified))) }
        members.append(.init("size", .integer(Int64(status.st_size))))
        members.append(.init("modified", .integer(status.modifiedNanoseconds)))
        let bytes = JSONValue.object(members).bytes
        guard bytes.count <= Self.maxBytes else { return }
        _ = clinux_set_attribute(descriptor, Self.attribute, bytes, bytes.count)
    }

    /// Reads the record of a file that has not been changed since. Blocks.
    /// - Returns: nil without one.
    init?(of path: String) {
        let descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.maxBytes) { buffer, count in
            count = max(clinux_get_attribute(descriptor, Self.attribute, buffer.baseAddress, buffer.count), 0)
        }
        guard let value = try? JSONValue(parsing: bytes), let source = value["source"]?.string,
            let command = value["command"]?.string.flatMap({ CommandID($0) }),
            value["size"]?.integer == Int64(status.st_size), value["modified"]?.integer == status.modifiedNanoseconds
        else { return nil }
        self.init(
            command: command, source: source,
            validators: DownloadValidators(
                tag: value["etag"]?.string, lastModified: value["lastModified"]?.string))
    }

    init(_ command: CommandID, url: ResourceURL, validators: DownloadValidators) {
        self.init(command: command, source: Self.source(url), validators: validators)
    }

    private init(command: CommandID, source: String, validators: DownloadValidators) {
        self.command = command
        self.source = source
        self.validators = validators
    }

    static func source(_ url: ResourceURL) -> String { Hexadecimal.text(SHA256.hash(data: Array(url.text.utf8))) }
}

extension CopyTarget {
    /// Whether the file is one that this command has downloaded. Blocks.
    func isPublished(by command: CommandID) -> Bool { TargetRecord(of: path)?.command == command }
}

extension FileSystemQueue {
    /// The validators of a target that was downloaded from this URL and not changed since; nil: unknown.
    func recordedValidators(of target: CopyTarget, _ url: ResourceURL) async throws -> DownloadValidators? {
        let record = try await run { _ in TargetRecord(of: target.path) }
        guard let record, record.source == TargetRecord.source(url), !record.validators.isEmpty else { return nil }
        return record.validators
    }
}

extension stat {
    fileprivate var modifiedNanoseconds: Int64 { Int64(st_mtim.tv_sec) * 1_000_000_000 + Int64(st_mtim.tv_nsec) }
}
