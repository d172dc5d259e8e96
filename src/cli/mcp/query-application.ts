/** Loads the application in a child process with a time limit, and queries its routes, records and findings there. */
import { childEnvironment, endGroup, programFile, spawnNode } from '../dev/child-process.js'
import { Redactor } from '../dev/redactor.js'
import type { ResultMessage, QueryMessage } from './child.js'
import { ToolError, type QueryApplication } from './tool.js'

/** Child processes at a time, milliseconds of a query, and characters of stderr in an error. */
const limits = { processes: 2, ms: 60_000, stderrLength: 2000 }

/** @param module the file with the application's module. Default: `filigree.module` in package.json */
export function createQuery(cwd: string, module: string | undefined): QueryApplication {
  let running = 0
  const waiting: (() => void)[] = []
  return async (query, signal) => {
    while (running >= limits.processes)
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
      })
    running += 1
    try {
      return await runChild(cwd, { query, module }, signal)
    } finally {
      running -= 1
      waiting.shift()?.()
    }
  }
}

function runChild(
  cwd: string,
  message: QueryMessage,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const env = childEnvironment(cwd)
  const args = ['--enable-source-maps', programFile('./mcp-child.js', '../mcp/child.ts')]
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(new ToolError('Cancelled.'))
      return
    }
    // Standard output is ignored. Standard error can say why the process ended.
    const child = spawnNode(args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    const end = (reason?: string): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
      endGroup(child, 'SIGKILL')
      if (reason !== undefined) reject(new ToolError(reason))
    }
    const cancel = (): void => {
      end('Cancelled.')
    }
    const timer = setTimeout(() => {
      end(
        `The application was not loaded within ${limits.ms / 1000} s. Its modules wait for something, or run an endless loop.`,
      )
    }, limits.ms)
    signal?.addEventListener('abort', cancel)
    let stderr = ''
    child.stderr?.on(
      'data',
      (data: Buffer) => (stderr = `${stderr}${data.toString()}`.slice(-limits.stderrLength)),
    )
    child.on('message', (received: unknown) => {
      // The application can send messages of its own, which are ignored.
      const result = (received ?? {}) as Partial<ResultMessage>
      if (result.is === 'error') end(result.text)
      else if (result.is === 'result') {
        resolve(result.value)
        end()
      }
    })
    child.on('error', (error) => {
      end(`Node.js cannot be started: ${error.message}`)
    })
    child.on('close', (code) => {
      const text = new Redactor(env).text(stderr)
      end(
        `The application ended its process (${code ?? 'killed'}) while it was loading. ${text}`.trim(),
      )
    })
    try {
      child.send(message)
    } catch {
      end('The arguments are nested too deep.')
    }
  })
}
