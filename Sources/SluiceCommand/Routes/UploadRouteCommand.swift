internal import ArgumentParser

struct UploadRouteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route",
        abstract: "List and check the routes of uploads: what a finished upload becomes.",
        discussion: """
            The routes stand in sluice.yaml, and the door reads them at its start. A client names the route when it begins an \
            upload, as in POST /uploads?route=archive.

              routes:
                archive:
                  command: {type: upload, payload: {to: "https://media.example.com/in/{name}", method: PUT}}
                  qos: utility
                publish:
                  flow: {nodes: {store: {type: s3, payload: {…}}, notify: {type: webhook, payload: {…}, after: store}}}
                inbox: {}

            A route has a “command” or a “flow”, or neither: then the upload stays in the spool. It may have “qos”, \
            “uniqueKey”, “orderingKey”, “retryLimit”, “maxSize” and “retention” (how long the file is kept after the success).

            Strings of a payload may have {file} (the path of the bytes), {name}, {path} (of the file in the folder that the \
            client sends, else its name), {contentType}, {size}, {id}, {sha256}, {token} and {metadata.KEY}; “{{” and “}}” stand \
            for braces. In a URL a value is percent-encoded, and one with a slash is refused, but for {path}. Names that are \
            longer than a file system or S3 takes are refused at the creation of the upload.

            EXAMPLES
              sluice route list
              sluice route check sluice.yaml
            """,
        subcommands: [RouteListCommand.self, RouteCheckCommand.self])
}
