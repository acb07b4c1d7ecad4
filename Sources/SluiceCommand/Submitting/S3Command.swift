internal import ArgumentParser

struct S3Command: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "s3", abstract: "Store files as objects of S3.", subcommands: [S3PutCommand.self])
}
