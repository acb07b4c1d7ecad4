internal import Commands

/// The targets of several downloads.
package enum DownloadTargets {
    /// Finds the first download that would replace the file of an earlier one. Names that servers give are not
    /// known yet, and do not collide here.
    /// - Parameter payloads: as ``DownloadOperation/inspect(_:)`` left them.
    /// - Returns: the indices of both, and their path; nil where all paths differ.
    package static func collision(in payloads: [[UInt8]]) -> (earlier: Int, later: Int, path: String)? {
        var indices: [[UInt8]: Int] = [:]
        for (index, payload) in payloads.enumerated() {
            guard let value = try? JSONValue(parsing: payload), let download = try? DownloadPayload(value),
                download.name != .ofServer
            else { continue }
            let path = download.target(contentDisposition: nil)
            if let earlier = indices.updateValue(index, forKey: Array(path.utf8)) { return (earlier, index, path) }
        }
        return nil
    }
}
