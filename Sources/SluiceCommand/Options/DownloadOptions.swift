internal import ArgumentParser
internal import Commands

/// The options of `get` and `s3 get` that say what becomes of the file.
struct DownloadOptions: ParsableArguments {
    enum Overwrite: String, ExpressibleByArgument, CaseIterable {
        case replace, keep, fail, rename
    }

    @Option(
        name: .long, help: ArgumentHelp("The file, or with a slash at the end its directory.", valueName: "path"),
        completion: .file())
    var to = "./"

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The file's name in the directory; “server” takes the one that the server gives.", valueName: "name"))
    var name: String?

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("A header, as in 'X-Tag: nightly'. May be given several times.", valueName: "header"))
    var header: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The checksum of the whole file: sha256, sha512, sha1 or md5, a colon, hexadecimal digits.",
            valueName: "checksum"))
    var checksum: String?

    @Option(name: .long, help: ArgumentHelp("The size of the whole file, as in 8MiB.", valueName: "size"))
    var size: SizeArgument?

    @Option(name: .long, help: ArgumentHelp("Refuse a larger file, as in 2GiB. (default: no limit)", valueName: "size"))
    var maxBytes: SizeArgument?

    @Option(
        name: .long, help: "What happens to a file that exists: replace, keep (a success), fail or rename (name.1.ext)."
    )
    var overwrite = Overwrite.replace

    @Flag(name: .long, help: "Leave a file that exists, and take another name, as in name.1.ext.")
    var rename = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The permissions, octal, minus the umask. (default: those of the replaced file, else 0644)",
            valueName: "mode"))
    var mode: String?

    @Flag(name: .long, help: "Download only a version that the file was not downloaded from before.")
    var ifChanged = false

    @Flag(name: .long, help: "Give the file the time of now instead of the server's Last-Modified.")
    var newTime = false

    func validate() throws {
        if rename, overwrite != .replace {
            throw ValidationError("--rename is --overwrite rename: leave one of them out.")
        }
        _ = try HeaderArgument.members(header)
    }

    /// Refuses what several URLs cannot share.
    func require(for urls: [String], _ fields: SubmitFields) throws {
        if urls.isEmpty { throw ValidationError("Name at least one URL.") }
        if urls.count > 1, !to.endsWithBytes(of: "/") {
            throw ValidationError("With several URLs, --to must be a directory and end in a slash.")
        }
        if urls.count > 1, name != nil || checksum != nil || size != nil {
            throw ValidationError("--name, --checksum and --size are of one file: get one URL at a time.")
        }
        if fields.uniqueKey != nil, urls.count > 1 {
            throw ValidationError("--unique-key names one command: get one URL at a time.")
        }
        try fields.requireKeyOfPeriod()
    }

    /// The members of the payload but its source.
    func members() throws -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [.init("to", .string(to))]
        let headers = try HeaderArgument.members(header)
        if !headers.isEmpty { members.append(.init("headers", .object(headers))) }
        if let name { members.append(.init("name", .string(name))) }
        if let checksum { members.append(.init("checksum", .string(checksum))) }
        if let size { members.append(.init("size", .integer(size.bytes))) }
        if let maxBytes { members.append(.init("maxBytes", .integer(maxBytes.bytes))) }
        let overwrite = rename ? .rename : overwrite
        if overwrite != .replace { members.append(.init("overwrite", .string(overwrite.rawValue))) }
        if let mode { members.append(.init("mode", .string(mode))) }
        if ifChanged { members.append(.init("ifChanged", true)) }
        if newTime { members.append(.init("keepTime", false)) }
        return members
    }
}
