internal import ArgumentParser
internal import Commands
internal import FileOps
internal import Glibc
internal import HTTPClient
internal import Queue

struct PutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Upload files and folders. Prints one UUID a line as soon as it is durable.",
        discussion: """
            Every file is checked first; where one cannot be uploaded, none is submitted. The files stay in place and must \
            not change until they are sent; --spool copies them into the data directory instead. A URL that ends in a \
            slash gets the file's name appended; two files that would get one URL are refused. Two puts with one unique \
            key are equal where the file's path, size and modification time, the URL and the options are equal.

            \(FolderOptions.discussion)

            EXAMPLES
              sluice put report.pdf --to https://media.example.com/in/
              sluice put *.mp4 --to https://media.example.com/in/ --qos background --wait
              sluice put photos --to https://media.example.com/in/ --include '*.jpg' --exclude raw/ --dry-run
              sluice put photos --to https://media.example.com/in/ --unique-key photos
              sluice put dump.sql --to file:///backup/dump.sql --spool
              sluice put disk.img --to https://media.example.com/files/ --protocol tus --wait
              sluice put latest.csv --to https://media.example.com/ --unique-key latest --unique-for running
              sluice put a.bin --to http://host/upload --method POST --header 'X-Tag: nightly' --idempotent yes
            """)

    enum Method: String, ExpressibleByArgument, CaseIterable {
        case put = "PUT"
        case post = "POST"

        init?(argument: String) { self.init(rawValue: argument.uppercased()) }
    }

    enum TransferProtocol: String, ExpressibleByArgument, CaseIterable {
        case put, tus, contentRange
    }

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields
    @OptionGroup var folders: FolderOptions

    @Argument(help: ArgumentHelp("The files and folders.", valueName: "file"), completion: .file())
    var files: [String]

    @Option(
        name: .long,
        help: ArgumentHelp("http, https or file; a slash at the end appends the file's name.", valueName: "url"))
    var to: String

    @Option(
        name: .long,
        help: ArgumentHelp("PUT replaces the target; POST may add to it. The default is PUT.", valueName: "method"))
    var method: Method?

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("A header, as in 'X-Tag: nightly'. May be given several times.", valueName: "header"))
    var header: [String] = []

    @Flag(name: .long, help: "Copy the files into the data directory first (as a reflink where the file system can).")
    var spool = false

    @Option(
        name: .customLong("protocol"),
        help: ArgumentHelp(
            """
            The upload protocol: put (the whole file in one request), tus or contentRange (both resume an interrupted \
            upload). The default for files from 1 MiB on, without --method, is contentRange where sluice.yaml sets it \
            for the destination, otherwise tus where the server of the URL supports it, otherwise put. No name is \
            appended to the URL of a tus endpoint.
            """, valueName: "name"))
    var transferProtocol: TransferProtocol?

    @Flag(name: .long, help: "Delete each file after its success.")
    var removeSource = false

    @Flag(name: .long, help: "Wait until all have ended; exit 1 where one has not succeeded.")
    var wait = false

    func validate() throws {
        if to.isEmpty { throw ValidationError("--to must be a URL.") }
        if files.isEmpty { throw ValidationError("Name at least one file.") }
        if spool, removeSource {
            throw ValidationError(
                "--remove-source would delete the spooled copy, which is deleted anyway: leave one out.")
        }
        if fields.uniqueKey != nil, files.count > 1 {
            throw ValidationError("--unique-key names one command: put one file at a time.")
        }
        try fields.requireKeyOfPeriod()
        if files.count > 1, !to.endsWithBytes(of: "/"), transferProtocol != .tus {
            throw ValidationError("With several files, --to must end in a slash: each file's name is appended.")
        }
        _ = try HeaderArgument.members(header)
    }

    func run() async throws {
        SignalHandling.exits()
        let endsInSlash = to.prefix { $0 != "?" }.endsWithBytes(of: "/")
        let submission = FileSubmission(
            data: data, type: CommandType.upload, files: files, folders: folders, fields: fields,
            takesFolders: endsInSlash || transferProtocol == .tus, spools: spool, payload: payload)
        try await submission.run(asJSON: print.json, waits: wait)
    }

    private func payload(_ source: SourceSelection.Source) throws -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("file", .string(source.path)), .init("to", .string(to)), .init("removeSource", .bool(removeSource)),
        ]
        if let path = source.file?.path { members.append(.init("path", .string(path))) }
        if let method { members.append(.init("method", .string(method.rawValue))) }
        if let transferProtocol { members.append(.init("protocol", .string(transferProtocol.rawValue))) }
        let headers = try HeaderArgument.members(header)
        if !headers.isEmpty { members.append(.init("headers", .object(headers))) }
        return .object(members)
    }
}

/// The options of `put` and `s3 put` that choose files.
struct FolderOptions: ParsableArguments {
    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "Send only files that match, as in '*.jpg' or '/raw/**'. May be given several times.", valueName: "pattern"
        ))
    var include: [String] = []

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "Send no file that matches, as in '*.tmp' or 'cache/'. It wins over --include.", valueName: "pattern"))
    var exclude: [String] = []

    @Flag(
        name: .long,
        help: "Print what would be sent where, with sizes and their sum, and submit nothing. No store is needed.")
    var dryRun = false

    func validate() throws { _ = try filter() }

    /// - Throws: `ValidationError` that names the pattern.
    func filter() throws -> PathFilter {
        do { return try PathFilter(including: include, excluding: exclude) } catch {
            throw ValidationError("\(error).")
        }
    }

    /// How folders are sent, for the help texts of both commands.
    static let discussion = """
        Of a folder each regular file below it is sent, hidden ones too; its path below the folder is kept below --to, which \
        must end in a slash. Symbolic links are not followed; they, devices and files that vanish meanwhile are named and \
        left out, and empty folders are not made. --include and --exclude take patterns: * and ? stop at a slash, ** does \
        not, a slash at the start means the top of the folder, and one at the end a folder. A pattern that matches a \
        folder holds for all below it. A file is sent where an --include matches, or none is given, and no --exclude does.

        A second put of a folder sends each file again. With --unique-key K each file has a key of its own, of K, its path, \
        size and time: then a second put submits only files that are new or have changed, and prints the UUIDs of the others \
        with “existing”, for as long as --unique-for says. A put that is interrupted keeps the commands whose UUIDs it has \
        printed.
        """
}

/// The files that the arguments of `put` and `s3 put` name: files themselves, and the files below folders.
struct SourceSelection {
    struct Source {
        /// As it is opened.
        let path: String
        /// Nil where an argument names the file.
        let file: FolderListing.File?
    }

    private(set) var sources: [Source] = []
    /// Entries that are left out, with their whole paths.
    private(set) var omissions: [FolderListing.Omission] = []
    /// Whether an argument names a folder.
    private(set) var hasFolder = false

    /// - Throws: ``ExitError``, `ValidationError` or `PayloadError` for a folder that cannot be read.
    init(_ arguments: [String], _ options: FolderOptions) throws {
        let filter = try options.filter()
        for argument in arguments {
            var status = stat()
            // A missing file is refused by the operation, as one that cannot be read.
            guard stat(argument, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                if filter.takes(argument.lastPathName.utf8) { sources.append(Source(path: argument, file: nil)) }
                continue
            }
            hasFolder = true
            let listing = try FolderListing(of: argument, filter)
            let start = argument.endsWithBytes(of: "/") ? argument : argument + "/"
            sources += listing.files.map { Source(path: start + $0.path, file: $0) }
            omissions += listing.omissions.map { .init(start + $0.path, $0.reason) }
        }
    }

    /// Keeps the sources for which `body` returns a value. A file that has vanished or was replaced since its folder was
    /// read is left out instead.
    /// - Throws: the error of `body` for any other file.
    mutating func checking<Value>(_ body: (Source) throws -> Value) throws -> [Value] {
        var kept: [Source] = []
        var values: [Value] = []
        for source in sources {
            let result = Result { try body(source) }
            if let reason = source.file?.change(at: source.path) {
                omissions.append(.init(source.path, reason))
            } else {
                values.append(try result.get())
                kept.append(source)
            }
        }
        sources = kept
        return values
    }

    /// Names the entries that are left out, on standard error.
    func sayOmissions() {
        for omission in omissions { Diagnostics.say("left out: \(omission.path) is \(omission.reason.rawValue)") }
    }
}
