/** Asks the application in a process of its own, which has a limited time. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { endGroup, leashCode } from '../dev/child-process.js'
import { Redactor } from '../dev/redactor.js'
import { environment } from '../dev/supervisor.js'
import type { AnswerMessage, QuestionMessage } from './child.js'
import { ToolFault, type AskProject } from './tool.js'

/** Processes at a time, milliseconds for an answer, and characters of what a process has said at its end. */
const limits = { together: 2, ms: 60_000, said: 2000 }

export function askChildren(cwd: string, module: string | undefined): AskProject {
  let running = 0
  const waiting: (() => void)[] = []
  return async (question, signal) => {
    while (running >= limits.together)
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
      })
    running += 1
    try {
      return await ask(cwd, { question, module }, signal)
    } finally {
      running -= 1
      waiting.shift()?.()
    }
  }
}

function ask(
  cwd: string,
  message: QuestionMessage,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const env = environment(cwd)
  const args = ['--enable-source-maps', '--import', leashCode(), childFile()]
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(new ToolFault('Cancelled.'))
      return
    }
    const child = spawn(process.execPath, args, {
      ...{ cwd, env, detached: process.platform !== 'win32' },
      // What it prints is not for us; what it complains of may say why it ended.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    const end = (reason?: string): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
      endGroup(child, 'SIGKILL')
      if (reason !== undefined) reject(new ToolFault(reason))
    }
    const leave = (): void => {
      end('Cancelled.')
    }
    const timer = setTimeout(() => {
      end(
        `The application was not loaded within ${limits.ms / 1000} s: something in it waits or runs on.`,
      )
    }, limits.ms)
    signal?.addEventListener('abort', leave)
    let said = ''
    child.stderr?.on(
      'data',
      (data: Buffer) => (said = `${said}${data.toString()}`.slice(-limits.said)),
    )
    child.on('message', (given: unknown) => {
      // The application may send some of its own.
      const answer = (given ?? {}) as Partial<AnswerMessage>
      if (answer.is === 'fault') end(answer.text)
      else if (answer.is === 'answer') {
        resolve(answer.value)
        end()
      }
    })
    child.on('error', (error) => {
      end(`Node.js cannot be started: ${error.message}`)
    })
    child.on('close', (code) => {
      const text = new Redactor(env).text(said)
      end(
        `The application ended its process (${code ?? 'killed'}) while it was loaded. ${text}`.trim(),
      )
    })
    try {
      child.send(message)
    } catch {
      end('The arguments are nested too deep.')
    }
  })
}

/** The built file beside this one, or the source. */
function childFile(): string {
  const built = fileURLToPath(new URL('./mcp-child.js', import.meta.url))
  return existsSync(built) ? built : fileURLToPath(new URL('./child.ts', import.meta.url))
}
