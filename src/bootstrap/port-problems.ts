/** Why an application cannot listen: found by the start when it listens, and by `filigree doctor` without opening the port. */
import { createSocket, type Socket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Problem } from '../errors/declaration-error.js'
import type { Settings } from './options.js'

type PortSettings = Pick<Settings, 'port' | 'host'>

/**
 * @param code of the error of the system
 * @returns undefined for an error that has nothing to do with the port and the host
 */
export function toPortProblem(
  code: string | undefined,
  { port, host }: PortSettings,
): Problem | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return {
        code: 'PORT_TAKEN',
        message: `bootstrap: port ${port} is used by another program.`,
        remedy: `Stop it, or choose another port: PORT=${port < 65535 ? port + 1 : port - 1}, or the option port.`,
      }
    case 'EACCES':
      return {
        code: 'PORT_REFUSED',
        message: `bootstrap: this user may not listen at port ${port}.`,
        remedy: 'Choose a port from 1024 on: PORT=8080, or the option port.',
      }
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return {
        code: 'HOST_UNKNOWN',
        message: `bootstrap: host ${host} is not an address of this machine.`,
        remedy: 'Use 127.0.0.1 for this machine alone, or omit HOST and the option host.',
      }
    default:
      return undefined
  }
}

/**
 * Finds out whether an application could listen, without opening the port: a client would reach a port that doctor opens.
 *
 * @returns undefined if nothing is known to prevent it
 */
export async function findPortProblem(address: PortSettings): Promise<Problem | undefined> {
  if (address.port === 0) return undefined
  const problem = toPortProblem(await tryUdpPort(address), address)
  if (problem !== undefined) return problem
  const hosts = ['::', '0.0.0.0'].includes(address.host) ? localHosts() : [address.host]
  const answers = await Promise.all(hosts.map((host) => isListening(address.port, host)))
  return answers.includes(true) ? toPortProblem('EADDRINUSE', address) : undefined
}

/** The system has the same rules for ports of UDP: which ones a user may open, and at which addresses. @returns the code of its error */
async function tryUdpPort({ port, host }: PortSettings): Promise<string | undefined> {
  let socket: Socket | undefined
  try {
    const { address, family } = await lookup(host)
    socket = createSocket(family === 6 ? 'udp6' : 'udp4')
    const bound = once(socket, 'listening')
    socket.bind({ port, address, exclusive: true })
    await bound
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Other programs may use the port with UDP. On a machine without IPv6, `::` is replaced when the server listens.
    return code === 'EADDRINUSE' || (host === '::' && code !== 'EACCES') ? undefined : code
  } finally {
    socket?.close()
  }
}

/** The addresses at which a program listens that has no `host`. */
function localHosts(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((list = []) => list)
  const isReachable = ({ address }: { address: string }): boolean => !address.startsWith('fe80:')
  return ['127.0.0.1', ...addresses.filter(isReachable).map(({ address }) => address)]
}

/** Milliseconds after which an address counts as free: this machine answers at once. */
const connectTimeout = 500

function isListening(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host, timeout: connectTimeout })
    const finish = (result: boolean) => () => {
      socket.destroy()
      resolve(result)
    }
    socket.once('connect', finish(true))
    socket.once('error', finish(false))
    socket.once('timeout', finish(false))
  })
}
