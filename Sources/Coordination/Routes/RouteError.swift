internal import CLinux
internal import Glibc

/// Why the kernel's routes cannot be heard, in a sentence.
package struct RouteError: Error, Equatable, CustomStringConvertible {
    package let number: CInt

    init(_ number: CInt) { self.number = number }

    package var description: String { "routes cannot be heard from the kernel: \(String(cString: strerror(number)))" }
}
