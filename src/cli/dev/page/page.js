/** The development page: draws the view that the address names, and refreshes it every second while it is visible. */
import { main } from './elements.js'
import { drawEnded } from './request.js'
import { drawRequests } from './requests.js'
import { drawRoutes } from './routes.js'
import { drawLog, drawRecords, drawWaiting } from './views.js'

const state = document.getElementById('state')
const views = {
  requests: { draw: drawRequests, refresh: drawRequests },
  routes: { draw: drawRoutes },
  records: { draw: drawRecords },
  waiting: { draw: () => drawWaiting(true), refresh: () => drawWaiting(false) },
  log: { draw: () => drawLog(true), refresh: () => drawLog(false) },
}

function readAddress() {
  const [name, number] = location.hash.slice(1).split('/')
  return Object.hasOwn(views, name) ? { name, number } : { name: 'requests' }
}

async function draw() {
  const { name, number } = readAddress()
  for (const link of document.querySelectorAll('nav a'))
    if (link.hash === `#${name}`) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  document.title = `${name[0].toUpperCase()}${name.slice(1)} · Filigree`
  try {
    await views[name].draw(number)
    state.textContent = ''
  } catch (error) {
    state.textContent = `Waiting for the application: ${error.message}`
  }
}

async function refresh() {
  const { name, number } = readAddress()
  if (document.hidden || views[name].refresh === undefined) return
  try {
    await views[name].refresh(number)
    state.textContent = ''
  } catch {
    state.textContent = 'Waiting for the application.'
  }
}

/** In place of a response that failed, the page shows that request alone. */
const { request } = document.documentElement.dataset
if (request === undefined) {
  addEventListener('hashchange', () => {
    if (location.hash !== '#content') void draw()
  })
  await draw()
  setInterval(refresh, 1000)
} else main.replaceChildren(await drawEnded(request))
