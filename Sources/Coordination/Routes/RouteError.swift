internal import Glibc
internal import Host

/// Why the kernel's routes cannot be read.
package struct RouteError: Error, Equatable, CustomStringConvertible {
    package let number: CInt

    init(_ number: CInt) { self.number = number }

    package var description: String { "routes cannot be read from the kernel: \(SystemError(number))" }
}
