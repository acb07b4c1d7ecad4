internal import ArgumentParser
internal import Commands
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
