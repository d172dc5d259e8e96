/**
 * The socket that the application listens at, held from one of its processes to the next: who connects in between is
 * neither refused nor reset, but waits in the system until the next process accepts, or until the one that waits explains
 * why none does. The first process opens it, since only its program knows the port; the supervisor has it too, accepts
 * nobody, and hands it on.
 */
import type { ChildProcess, SendHandle } from 'node:child_process'
import type { ListeningSocket } from './child-port.js'
import type { BeginMessage, ExplainMessage, PortPlace } from './messages.js'

export class HeldPort {
  #place: PortPlace | undefined
  #socket: ListeningSocket | undefined
  #isOff = false

  hold(place: PortPlace, socket: ListeningSocket): void {
    this.letGo()
    if (this.#isOff) {
      socket.close()
      return
    }
    this.#place = place
    this.#socket = socket
  }

  begin(child: ChildProcess, message: Omit<BeginMessage, 'is' | 'place'>): void {
    this.#send(child, { is: 'begin', place: this.#place, ...message }, this.#socket)
  }

  /** @param report undefined: it shall answer nobody any more */
  explain(child: ChildProcess, message: Omit<ExplainMessage, 'is'>): void {
    if (this.#socket !== undefined)
      this.#send(
        child,
        { is: 'explain', ...message },
        message.report === undefined ? undefined : this.#socket,
      )
  }

  letGo(): void {
    this.#socket?.close()
    this.#socket = undefined
    this.#place = undefined
  }

  /**
   * A program that opens its port again, or at another address of this machine, finds it taken by nobody but us: from now
   * on nothing is held.
   *
   * @returns whether it is so
   */
  standsInTheWay(port: number): boolean {
    if (this.#place?.port !== port) return false
    this.#isOff = true
    this.letGo()
    return true
  }

  /** What cannot be sent has ended, which is heard elsewhere. */
  #send(
    child: ChildProcess,
    message: BeginMessage | ExplainMessage,
    socket: ListeningSocket | undefined,
  ): void {
    child.send(message, socket as SendHandle | undefined, () => undefined)
  }
}
