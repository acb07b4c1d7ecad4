internal import ArgumentParser
internal import Commands
internal import Queue

struct S3GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Get objects of S3 as files. Prints one UUID a line as soon as it is durable.",
        discussion: """
            As “sluice get”, with signed requests: a file appears under its name when it is whole, any worker continues it \
            after a cut connection or a crash, and an object that has changed meanwhile starts over. The bytes are compared \
            with --checksum, and with the checksum of the whole object where the store states one. The ETag proves \
            nothing about them: that of an object of several parts is not the MD5 of its bytes.

            \(S3Command.keys) The key needs the right s3:GetObject.

            EXAMPLES
              sluice s3 get s3://media/in/a.mp4 --endpoint https://s3.example.com --wait
              sluice s3 get s3://media/in/a.mp4 s3://media/in/b.mp4 --endpoint https://s3.example.com --to /data/in/
              sluice s3 get s3://backup/db.dump --endpoint https://s3.eu-west-1.amazonaws.com --region eu-west-1 \\
                --to /restore/db.dump --checksum sha256:2cf24dba5fb0a30e… --overwrite fail
              sluice s3 get s3://media/daily.csv --endpoint https://s3.example.com --if-changed --wait
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields
    @OptionGroup var address: S3AddressOptions
    @OptionGroup var download: DownloadOptions

    @Argument(help: ArgumentHelp("The objects, s3://bucket/key.", valueName: "url"))
    var urls: [String]

    @Option(
        name: .long,
        help: ArgumentHelp("The version of the object, of a bucket that keeps versions.", valueName: "id"))
    var versionID: String?

    @Flag(name: .long, help: "Wait until all have ended; exit 1 where one has not succeeded.")
    var wait = false

    func validate() throws {
        try download.require(for: urls, fields)
        if urls.count > 1, versionID != nil {
            throw ValidationError("--version-id is of one object: get one at a time.")
        }
        for url in urls { _ = try address.members(url, option: "The URL") }
    }

    func run() async throws {
        SignalHandling.exits()
        let payloads = try urls.map(payload)
        try await DownloadSubmission(data: data, fields: fields, urls: urls, payloads: payloads)
            .run(asJSON: print.json, waits: wait)
    }

    private func payload(_ url: String) throws -> JSONValue {
        var object = try address.members(url, option: "The URL")
        if let versionID { object.append(.init("versionId", .string(versionID))) }
        return .object([.init("s3", .object(object))] + (try download.members()))
    }
}
