// Shows the last image of a URL at once, and the fresh one when it arrives.
//
//     sluice up &
//     latest-image ./sluice-data https://media.example.com/radar.png radar.png
//
// The file has the stored image within milliseconds, without a network and without a running Sluice. Its server is asked
// at the same time. Where it cannot be reached, the stored image stays.

import Glibc
import Sluice

/// Saves each version of an image in a file, and prints how old it is.
func show(_ url: String, in file: String, with client: SluiceClient) async throws {
    for try await response in client.fetch(url) where response.status == 200 {
        try save(response.body, in: file)
        let age = response.age.map { ", \($0.components.seconds) s old" } ?? ""
        print("\(response.source): \(response.body.count) bytes\(age)")
        // A viewer behind a pipe learns of each version when it is there.
        fflush(nil)
    }
}

/// Replaces a file in one step, so that a viewer never sees half an image.
func save(_ bytes: [UInt8], in file: String) throws {
    let new = "\(file).new"
    guard let stream = fopen(new, "w") else { throw FileError(name: new) }
    let isWritten = fwrite(bytes, 1, bytes.count, stream) == bytes.count
    guard fclose(stream) == 0, isWritten, rename(new, file) == 0 else { throw FileError(name: file) }
}

struct FileError: Error, CustomStringConvertible {
    var name: String
    var description: String { "cannot write \(name)" }
}

let arguments = CommandLine.arguments
/// The URL of a store on a server; nil: the store is in the data directory.
let store = getenv("SLUICE_STORE").map { String(cString: $0) }
guard arguments.count == 4 else {
    print("usage: latest-image DATA URL FILE")
    exit(64)
}
do {
    let client = try SluiceClient(data: arguments[1], store: store)
    try await show(arguments[2], in: arguments[3], with: client)
    await client.close()
} catch {
    print("latest-image: \(error)")
    exit(1)
}
