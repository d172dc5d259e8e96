/** Installs the packages of a project by the program that the command was started by. */
import { spawn } from 'node:child_process'

const managers = ['npm', 'pnpm', 'yarn', 'bun'] as const
export type PackageManager = (typeof managers)[number]

/** The program that runs the command, by what it says of itself; npm if nothing does. */
export function findManager(agent = process.env.npm_config_user_agent): PackageManager {
  const name = agent?.split('/')[0]
  return managers.find((one) => one === name) ?? 'npm'
}

/** Without a network npm tries again for minutes: once is enough here. */
const impatient = ['--fetch-retries=1', '--fetch-retry-mintimeout=500', '--fetch-timeout=60000']

/** Its output goes to standard error. @returns whether it was done */
export function installPackages(manager: PackageManager, cwd: string): Promise<boolean> {
  const options =
    manager === 'npm' ? ['--no-audit', '--no-fund', '--prefer-offline', ...impatient] : []
  return new Promise((resolve) => {
    const child = spawn(manager, ['install', ...options], {
      cwd,
      stdio: ['ignore', process.stderr, process.stderr],
      shell: process.platform === 'win32',
    })
    child.on('error', () => {
      resolve(false)
    })
    child.on('exit', (code) => {
      resolve(code === 0)
    })
  })
}
