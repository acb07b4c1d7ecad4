internal import ArgumentParser
internal import Commands
internal import FileOps
internal import Queue

struct S3PutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Store files and folders as objects of S3. Prints one UUID a line as soon as it is durable.",
        discussion: """
            \(S3Command.keys)

            A file of more than 8 MiB (or --part-size) goes in parts. Any worker resumes it, also after every process was killed; \
            at most the part that was under way is sent again. An upload that is cancelled is aborted at the endpoint.

            The files stay in place and must not change until they are sent; --spool copies them into the data directory \
            instead. A key that ends in a slash gets the file's name appended.

            \(FolderOptions.discussion)

            EXAMPLES
              sluice s3 put report.pdf --to s3://media/in/ --endpoint https://s3.example.com
              sluice s3 put photos --to s3://media/photos/ --endpoint https://s3.example.com --exclude raw/ --dry-run
              sluice s3 put *.mp4 --to s3://media/in/ --endpoint https://s3.example.com --qos background --wait
              sluice s3 put disk.img --to s3://backup/disk.img --endpoint https://s3.eu-west-1.amazonaws.com \\
                --region eu-west-1 --part-size 64MiB --header 'x-amz-storage-class: STANDARD_IA'
              sluice s3 put report.pdf --presigned @url.txt
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields
    @OptionGroup var address: S3AddressOptions
    @OptionGroup var object: S3ObjectOptions
    @OptionGroup var folders: FolderOptions

    @Argument(help: ArgumentHelp("The files and folders.", valueName: "file"), completion: .file())
    var files: [String]

    @Option(
        name: .long,
        help: ArgumentHelp("s3://bucket/key; a slash at the end appends the file's name.", valueName: "url"))
    var to: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Instead of --to and --endpoint: the URL of one signed PUT, or @file with it.", valueName: "url"))
    var presigned: String?

    @Flag(name: .long, help: "Copy the files into the data directory first (as a reflink where the file system can).")
    var spool = false

    @Flag(
        name: .long,
        help: "Delete each file after the endpoint has accepted it, and stated its length where the key may read it.")
    var removeSource = false

    @Flag(name: .long, help: "Wait until all have ended; exit 1 where one has not succeeded.")
    var wait = false

    func validate() throws {
        if files.isEmpty { throw ValidationError("Name at least one file.") }
        if presigned != nil {
            if to != nil || address.endpoint != nil || address.region != nil || address.addressing != nil {
                throw ValidationError(
                    "--presigned has endpoint, bucket and key: leave out --to, --endpoint, --region and --addressing.")
            }
            if files.count > 1 { throw ValidationError("A presigned URL takes one file.") }
        } else {
            guard let to, try address.chosenEndpoint() != nil else {
                throw ValidationError("Give --to and --endpoint (or set AWS_ENDPOINT_URL_S3), or --presigned.")
            }
            let key = try S3AddressOptions.target(to, option: "--to").key
            if files.count > 1, !key.isEmpty, !key.endsWithBytes(of: "/") {
                throw ValidationError("With several files, --to must end in a slash: each file's name is appended.")
            }
        }
        if spool, removeSource {
            throw ValidationError(
                "--remove-source would delete the spooled copy, which is deleted anyway: leave one out.")
        }
        if fields.uniqueKey != nil, files.count > 1 {
            throw ValidationError("--unique-key names one command: put one file at a time.")
        }
        try fields.requireKeyOfPeriod()
        _ = try object.members()
    }

    func run() async throws {
        SignalHandling.exits()
        let key = try to.map { try S3AddressOptions.target($0, option: "--to").key }
        let submission = FileSubmission(
            data: data, type: CommandType.s3, files: files, folders: folders, fields: fields,
            takesFolders: key.map { $0.isEmpty || $0.endsWithBytes(of: "/") } ?? false, spools: spool, payload: payload)
        try await submission.run(asJSON: print.json, waits: wait)
    }

    private func payload(_ source: SourceSelection.Source) throws -> JSONValue {
        var members: [JSONValue.Member] = [.init("file", .string(source.path))]
        if let presigned {
            members.append(.init("presigned", .string(try Self.url(presigned))))
        } else {
            members += try address.members(Self.url(to ?? "", below: source.file?.path), option: "--to")
        }
        members += try object.members()
        if removeSource { members.append(.init("removeSource", .bool(true))) }
        return .object(members)
    }

    /// The URL of a file of a folder. The URL of the bucket alone may lack its slash.
    private static func url(_ to: String, below path: String?) -> String {
        guard let path else { return to }
        return to.endsWithBytes(of: "/") ? to + path : "\(to)/\(path)"
    }

    /// The URL, or the first line of the file that `@` names. The list of processes shows arguments to every user.
    private static func url(_ text: String) throws -> String {
        guard text.utf8.first == UInt8(ascii: "@") else { return text }
        let name = String(Substring(text.utf8.dropFirst()))
        let bytes = try PayloadFile.read(name)
        guard let line = String(validating: bytes.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self) else {
            throw ExitError(.data, "\(name) is not UTF-8; it must have one URL")
        }
        return line
    }
}

/// The options of an object of S3.
struct S3ObjectOptions: ParsableArguments {
    enum Checksum: String, ExpressibleByArgument, CaseIterable {
        case sha256, md5, crc32c, none
    }

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Bytes of a part, as in 16MiB: 5 MiB to 5 GiB. (default: 8MiB, or the least for 10,000 parts)",
            valueName: "size"))
    var partSize: String?

    @Option(name: .long, help: ArgumentHelp("The media type. (default: by the file's name)", valueName: "type"))
    var contentType: String?

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("Metadata, as in title=a. May be given several times.", valueName: "name=value"))
    var metadata: [String] = []

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("A header of the object, as in 'x-amz-acl: private'.", valueName: "header"))
    var header: [String] = []

    @Flag(name: .long, help: "Never replace an object.")
    var ifAbsent = false

    @Option(name: .long, help: ArgumentHelp("How the endpoint checks the bytes. (default: sha256)"))
    var checksum: Checksum?

    /// - Throws: `ValidationError` for a header or an entry of the metadata that has another form.
    func members() throws -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        if let partSize { members.append(.init("partSize", .string(partSize))) }
        if let contentType { members.append(.init("contentType", .string(contentType))) }
        if !metadata.isEmpty { members.append(.init("metadata", .object(try metadata.map(Self.entry)))) }
        let headers = try HeaderArgument.members(header)
        if !headers.isEmpty { members.append(.init("headers", .object(headers))) }
        if ifAbsent { members.append(.init("ifAbsent", .bool(true))) }
        if let checksum { members.append(.init("checksum", .string(checksum.rawValue))) }
        return members
    }

    private static func entry(_ text: String) throws -> JSONValue.Member {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")), mark > text.startIndex else {
            throw ValidationError("--metadata must be name=value, not '\(text)'.")
        }
        return .init(String(text[..<mark]), .string(String(Substring(text.utf8[mark...].dropFirst()))))
    }
}
