internal import ArgumentParser
internal import Transfers

/// `8MiB`, `8MB` or plain bytes.
struct SizeArgument: ExpressibleByArgument {
    let bytes: Int64

    init?(argument: String) {
        guard let bytes = ByteCount.bytes(argument) else {
            ArgumentForm.expect("a size such as 8MiB, 500kB or bytes")
            return nil
        }
        self.bytes = bytes
    }
}
