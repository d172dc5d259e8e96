/**
 * Listens by a server that hands over web-standard requests. Such servers count no connections and show no bytes of them,
 * so some limits differ: docs/compatibility.md.
 */
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { LinkedList, type ListItem } from '../../core/collections.js'
import type { HttpError } from '../../errors/http-error.js'
import type { Listener, ListenerOptions } from '../listener.js'
import { Pressure } from '../pressure.js'
import { connectionRefusal, overloadRefusal } from '../refusals.js'
import { listenAtLocalhost, mayDoWithoutSecondLoopback } from '../second-loopback.js'
import { toUrl } from '../server.js'
import { WebResponseForm, type WebOutgoing, type WebResponseOptions } from './web-response.js'

/** A server that is listening. */
export interface OpenServer {
  readonly port: number
  /**
   * Accepts no more connections.
   *
   * @param all whether requests in progress are aborted
   * @returns once all of them have their responses
   */
  stop(all?: boolean): Promise<void>
}

/** Milliseconds between two checks of pending requests. */
const checkInterval = 1000

export abstract class WebListener<
  Options extends ListenerOptions = ListenerOptions,
> implements Listener {
  protected readonly options: Options
  protected readonly form: WebResponseForm
  readonly #pressure: Pressure
  readonly #servers: OpenServer[] = []
  /** Requests without a complete response. */
  readonly #pending = new LinkedList<PendingRequest>()
  /** Whether requests have come since the last check. */
  #hasServed = false
  /** When the last check found requests. */
  #servedAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(options: Options, form: Pick<WebResponseOptions, 'toError' | 'asksClient'>) {
    this.options = options
    this.#pressure = new Pressure(options.times.delay)
    this.form = new WebResponseForm({
      ...form,
      writesLength: true,
      handlesConnection: true,
      stall: options.times.stall,
    })
  }

  /** @throws an error with a code of the system if the address cannot be opened */
  protected abstract open(port: number, host: string): OpenServer

  async listen(port: number, host: string): Promise<string> {
    this.#pressure.start()
    this.#timer ??= setInterval(() => {
      this.#check()
    }, checkInterval).unref()
    if (host.toLowerCase() !== 'localhost') return this.#listenAt(port, host)
    return listenAtLocalhost(port, {
      listenFirst: () => this.#open(port, '127.0.0.1').port,
      listenSecond: (chosen) => this.#opensSecondLoopback(chosen),
      close: () => this.#stop(true),
    })
  }

  async close(): Promise<void> {
    this.#pressure.stop()
    const { linger, drain, keepAlive } = this.options.times
    const takesNew = this.options.takesNew ?? true
    const began = performance.now()
    this.#check()
    // Connected clients, which are told meanwhile that their connections end.
    if (takesNew && began - this.#servedAt < keepAlive) await wait(Math.min(linger, drain))
    const rest = Math.max(0, drain - (performance.now() - began))
    await Promise.race([this.#stop(false), wait(rest, undefined, { ref: false })])
    for (const { outgoing } of this.#pending.toArray()) outgoing.destroy()
    await this.#stop(true)
    clearInterval(this.#timer)
    this.#servers.length = 0
  }

  /**
   * @param sockets open WebSockets, which count as connections
   * @returns the error for a request that just came, usually none
   */
  protected refusal(sockets = 0): HttpError | undefined {
    this.#hasServed = true
    if (this.#pressure.isOver) return overloadRefusal()
    const isFull = this.#pending.size + sockets >= this.options.bounds.connections
    return isFull ? connectionRefusal() : undefined
  }

  /** Waits for a response, and until its stream ends. */
  protected follow(pending: PendingRequest): Promise<Response> {
    const { outgoing } = pending
    this.#pending.add(pending)
    const done = (): void => {
      this.#pending.delete(pending)
      this.#hasServed = true
      pending.ended()
    }
    return new Promise((resolve) => {
      outgoing.onBegin(() => {
        if (outgoing.isStream && !outgoing.destroyed) outgoing.once('close', done)
        else done()
        resolve(outgoing.response ?? cutOffResponse())
      })
    })
  }

  #check(): void {
    if (this.#hasServed) this.#servedAt = performance.now()
    this.#hasServed = false
    for (const pending of this.#pending.toArray()) pending.lasts()
  }

  async #stop(all: boolean): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop(all)))
  }

  #open(port: number, host: string): OpenServer {
    const server = this.open(port, host)
    this.#servers.push(server)
    return server
  }

  #listenAt(port: number, host: string): string {
    const server = this.#open(port, host)
    const family: AddressInfo['family'] = host.includes(':') ? 'IPv6' : 'IPv4'
    return toUrl({ address: host, family, port: server.port })
  }

  /** @returns false if another program uses the port on `::1` */
  #opensSecondLoopback(port: number): boolean {
    try {
      this.#open(port, '::1')
      return true
    } catch (error) {
      return mayDoWithoutSecondLoopback(error)
    }
  }
}

/** A request without a complete response. */
export class PendingRequest implements ListItem<PendingRequest> {
  previous: PendingRequest | undefined = undefined
  next: PendingRequest | undefined = undefined
  isListed = false
  readonly outgoing: WebOutgoing

  constructor(outgoing: WebOutgoing) {
    this.outgoing = outgoing
  }

  /** Called every second until the response is complete. */
  lasts(): void {
    return undefined
  }

  /** Called when the response is complete. */
  ended(): void {
    return undefined
  }
}

/** Servers close the connection of a body that fails. */
function cutOffResponse(): Response {
  const body = new ReadableStream({
    pull(controller) {
      controller.error()
    },
  })
  return new Response(body, { status: 500 })
}
