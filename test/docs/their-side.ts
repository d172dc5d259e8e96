/**
 * Checks the code of the other libraries in `docs/coming-from-….md`: installs the libraries into a separate folder, and
 * compiles and runs their blocks with the requests of the page.
 *
 *     npm run test:coming-from                    all pages
 *     npm run test:coming-from -- express tsoa    only these
 */
import { runPage } from './run-theirs.js'
import { libraries } from './libraries.js'
import { readPairPages } from './pairs.js'

const selected = process.argv.slice(2)
const pages = readPairPages().filter(({ name }) => selected.length === 0 || selected.includes(name))
let failed = 0
for (const page of pages)
  for (const library of libraries.filter(({ page: name }) => name === page.name)) {
    const { version, problems, count } = await runPage(page, library)
    failed += problems.length
    console.log(`${library.side} ${version}: ${count - problems.length} of ${count} blocks`)
    for (const problem of problems) console.log(problem)
  }
process.exitCode = failed === 0 ? 0 : 1
