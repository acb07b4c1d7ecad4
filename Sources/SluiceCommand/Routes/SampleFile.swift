internal import Glibc
internal import Host

/// An empty file that operations can look at.
struct SampleFile {
    let path: String

    init() throws(ExitError) {
        var template = Array(
            "\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/sluice-route.XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else {
            throw ExitError(.cannotCreate, "cannot create a sample file: \(SystemError().reason)")
        }
        close(descriptor)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func remove() { unlink(path) }
}
