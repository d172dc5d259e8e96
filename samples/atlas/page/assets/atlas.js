/** Puts the page together. */
import { editCity, placeCity, startCityForm } from './city-form.js'
import { messageOf } from './faults.js'
import { startMap } from './map.js'
import { choosePictureCountry, startPictureForm } from './picture-form.js'
import { searchAgain, startSearch } from './search.js'
import { readCountries } from './server.js'
import { showStatistics, startSession } from './session.js'

startMap(placeCity)
startSession()
startCityForm(async () => {
  await Promise.all([searchAgain(), showStatistics()])
})
startPictureForm()

try {
  const countries = await readCountries()
  for (const select of document.querySelectorAll('select[name=country]')) {
    select.append(...countries.map(({ code, name }) => new Option(name, code)))
  }
  startSearch(countries, (city) => {
    editCity(city)
    choosePictureCountry(city.country)
  })
} catch (error) {
  document.getElementById('search-fault').textContent = messageOf(error)
}
