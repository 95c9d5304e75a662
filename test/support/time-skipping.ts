import type { ConnectionOptions } from '@temporalio/client'

type GrpcInterceptor = NonNullable<ConnectionOptions['interceptors']>[number]

/**
 * `time_skipping_config { enabled: true }` as the start requests hold it; the client has no option for it yet. Protobuf
 * merges concatenated messages, so that the encoded field can be put behind an encoded request.
 */
const ENABLED: Record<string, Uint8Array> = {
  StartWorkflowExecution: encodedField(29),
  SignalWithStartWorkflowExecution: encodedField(27),
}

/**
 * For `Connection.connect({ interceptors: [timeSkippingInterceptor] })`: workflows started over the connection, and
 * their children, skip time whenever no activity and no workflow task is running. Timers and retry back-offs then cost
 * nothing, and a `condition` with a timeout that waits for a test's signal is over at once. Activities see real time.
 */
export const timeSkippingInterceptor: GrpcInterceptor = (options, nextCall) => {
  const call = nextCall(options)
  const field = ENABLED[options.method_definition.path.split('/').at(-1) ?? '']
  if (field) {
    const send = call.sendMessageWithContext.bind(call)
    call.sendMessageWithContext = (context, message) => send(context, Buffer.concat([message, field]))
  }
  return call as ReturnType<GrpcInterceptor>
}

/** Field `number` holding a message of two bytes: its own field 1, a bool, true. */
function encodedField(number: number): Uint8Array {
  const tag = (number << 3) | 2
  return Uint8Array.of((tag & 0x7f) | 0x80, tag >> 7, 2, 0x08, 0x01)
}
