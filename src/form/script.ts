/** Adds comfort to the form where scripts run; without it, everything still works. Pure. */
import { fromMenu } from '../images/catalogue/reference.ts'
import { rootClass } from './style.ts'

/**
 * A choice in the menu selects the menu. The menu is empty at first, since choosing an entry that it already shows
 * would not be an event. The script leaves no global, and may run again for the same form.
 */
export const script = `{
for(const form of document.querySelectorAll('.${rootClass}')){
const menu=form.querySelector('[name=image_dropdown]'),radio=form.querySelector('[value=${fromMenu}]');
if(!menu||!radio)continue;
menu.addEventListener('change',()=>{radio.checked=true});
radio.addEventListener('change',()=>{if(menu.selectedIndex<0)menu.selectedIndex=0});
if(!radio.checked)menu.selectedIndex=-1
}}`
