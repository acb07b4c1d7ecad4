internal import ArgumentParser

struct S3Command: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "s3", abstract: "Store files as objects of S3, and get objects as files.",
        discussion: """
            \(keys)

            EXAMPLES
              sluice s3 put report.pdf --to s3://media/in/ --endpoint https://s3.example.com --wait
              sluice s3 get s3://media/in/report.pdf --endpoint https://s3.example.com --wait
            """,
        subcommands: [S3PutCommand.self, S3GetCommand.self])

    /// Where the access key comes from, for the help texts.
    static let keys = """
        The workers sign with the access key of the endpoint in sluice.yaml (“credentials” in deploy/sluice.example.yaml: \
        s3AccessKey, s3Environment or s3Profile). For an endpoint without one there, and only for https endpoints of AWS and \
        the one that AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL of the workers names, it is that of their environment \
        (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), else that of a profile (AWS_PROFILE, else “default”, in \
        AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/credentials). “sluice config check” says which is found.
        """
}
