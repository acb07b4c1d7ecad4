/// A value in a box of its own, so that a copy of what holds it copies one reference. For values that are
/// large and change seldom, within types that are copied often.
@propertyWrapper package indirect enum Indirect<Value: Sendable>: Sendable {
    case box(Value)

    package init(wrappedValue: Value) { self = .box(wrappedValue) }

    package var wrappedValue: Value {
        get {
            switch self {
            case .box(let value): value
            }
        }
        set { self = .box(newValue) }
    }
}

extension Indirect: Equatable where Value: Equatable {}
