internal import Synchronization

/// A value that several threads of a test change.
package final class Shared<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    package init(_ value: Value) { mutex = Mutex(value) }

    package var value: Value { mutex.withLock { $0 } }

    package func change(_ body: (inout Value) -> Void) { mutex.withLock { body(&$0) } }
}
