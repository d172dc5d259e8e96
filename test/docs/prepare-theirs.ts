/** What some libraries want to have generated before their programs are compiled. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runTool } from '../tools/install.js'

/**
 * A block is a controller: its routes are generated, and registered in an application that answers errors as tsoa's guide
 * proposes.
 */
export function prepareTsoa(folder: string, code: readonly string[]): void {
  for (const [at, text] of code.entries()) {
    const block = join(folder, 'blocks', String(at))
    renameSync(join(block, 'main.ts'), join(block, 'controller.ts'))
    const authenticates = text.includes('expressAuthentication')
    const own = `blocks/${at}`
    const settings = {
      entryFile: `${own}/controller.ts`,
      controllerPathGlobs: [`${own}/controller.ts`],
      noImplicitAdditionalProperties: 'throw-on-extras',
      spec: { outputDirectory: own },
      routes: {
        ...{ routesDir: own, esm: true },
        ...(authenticates ? { authenticationModule: `${own}/controller.ts` } : {}),
      },
    }
    writeFileSync(join(block, 'tsoa.json'), JSON.stringify(settings))
    const cli = join(folder, 'node_modules/@tsoa/cli/dist/cli.js')
    runTool(process.execPath, [cli, 'routes', '-c', `${own}/tsoa.json`], folder)
    writeFileSync(join(block, 'main.ts'), tsoaProgram)
  }
}

const tsoaProgram = `import express, { type ErrorRequestHandler } from 'express'
import { ValidateError } from 'tsoa'
import { RegisterRoutes } from './routes.js'

const app = express()
app.use(express.json(), express.urlencoded({ extended: true }))
RegisterRoutes(app)
const answerError: ErrorRequestHandler = (error, req, res, next) => {
  if (error instanceof ValidateError) return res.status(422).json({ details: error.fields })
  const { status, message } = error as { status?: number; message: string }
  res.status(status ?? 500).json({ error: status === undefined ? 'Internal server error' : message })
}
app.use(answerError)
app.listen(Number(process.env.PORT))
`
