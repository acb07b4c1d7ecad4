internal import ArgumentParser

struct S3Command: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "s3", abstract: "Store files as objects of S3.",
        discussion: """
            EXAMPLES
              sluice s3 put report.pdf --to s3://media/in/ --endpoint https://s3.example.com --wait
            """,
        subcommands: [S3PutCommand.self])
}
