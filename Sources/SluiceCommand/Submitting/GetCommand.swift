internal import ArgumentParser
internal import BuiltIn
internal import Commands
internal import FileOps
internal import Queue

struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Download URLs into files. Prints one UUID a line as soon as it is durable.",
        discussion: """
            A file appears under its name when it is whole, and its checksum is right where one is known. Until then its \
            bytes are in a hidden file beside it, which any worker continues after a cut connection or a crash. If the file \
            has changed at its server meanwhile, the download starts over: two versions are never mixed.

            A --to that ends in a slash is a directory, which must exist. The name in it is the last part of the URL, or \
            --name. With --overwrite keep an existing file is a success and stays. A file that is replaced keeps its \
            permissions and owner. A name that the server chooses never replaces a file: the download fails (with --wait \
            exit code 65), or with --rename becomes name.1.ext.

            EXAMPLES
              sluice get https://media.example.com/a.mp4 --wait
              sluice get https://media.example.com/a.mp4 --to /data/in/ --checksum sha256:2cf24dba5fb0a30e…
              sluice get https://media.example.com/a.mp4 https://media.example.com/b.mp4 --to /data/in/ --qos background
              sluice get https://media.example.com/daily.csv --to /data/daily.csv --if-changed --wait
              sluice get 'https://media.example.com/export?id=7' --to /data/in/ --name server --rename
              sluice get file:///mnt/server/a.mp4 --to /data/in/
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields
    @OptionGroup var download: DownloadOptions

    @Argument(help: ArgumentHelp("The URLs, http, https or file.", valueName: "url"))
    var urls: [String]

    @Flag(name: .long, help: "Wait until all have ended; exit 1 where one has not succeeded.")
    var wait = false

    func validate() throws { try download.require(for: urls, fields) }

    func run() async throws {
        SignalHandling.exits()
        let members = try download.members()
        let payloads = urls.map { JSONValue.object([.init("url", .string($0))] + members) }
        try await DownloadSubmission(data: data, fields: fields, urls: urls, payloads: payloads)
            .run(asJSON: print.json, waits: wait)
    }
}

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

/// Submits a command for each source: `get` and `s3 get`.
struct DownloadSubmission {
    let data: DataOptions
    let fields: SubmitFields
    /// The sources as they were given.
    let urls: [String]
    /// The payloads, in the order of the URLs.
    let payloads: [JSONValue]

    /// - Parameter waits: returns when all have ended.
    func run(asJSON: Bool, waits: Bool) async throws {
        let registry = BuiltInOperations.registry(submission: .init(umask: CommandLineRun.inheritedUmask))
        let drafts = try payloads.map {
            try CommandDraft(type: CommandType.download, payload: $0, options: fields.options, registry: registry)
        }
        try refuseCollision(of: drafts)
        let client = try data.client(registry)
        let ids = try await SubmissionPrinter(client: client, asJSON: asJSON, labelName: "url")
            .submit(drafts, labels: urls)
        if waits { try await CompletionWaiter(client: client, ids: ids, totals: drafts.map(\.total)).run() }
        await client.close()
    }

    /// Two downloads into one file would replace each other.
    private func refuseCollision(of drafts: [CommandDraft]) throws {
        guard let (earlier, later, path) = DownloadTargets.collision(in: drafts.map(\.payload)) else { return }
        throw ExitError(
            .usage,
            "\(urls[earlier]) and \(urls[later]) would both become \(path), and one would be lost; get one of them to "
                + "another place")
    }
}
