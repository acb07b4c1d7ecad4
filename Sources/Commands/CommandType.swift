/// Names of the types of commands that the built-in operations run.
package enum CommandType {
    package static let noop = "noop"
    package static let upload = "upload"
    package static let request = "request"

    /// All of them: what a new store accepts before any worker has registered.
    package static let builtIn: Set<String> = [noop, request, upload]
}
