package scenario

import (
	"fmt"
	"time"

	"godwit/tests/load/fleet"
	"godwit/tests/load/wire"
)

// waitRoutes waits until a message published on any node reaches all others.
func (e *Env) waitRoutes() error {
	if e.Nodes == 1 {
		return nil
	}
	end := time.Now().Add(15 * time.Second)
	for _, from := range e.Cluster.Servers {
		for _, to := range e.Cluster.Servers {
			if from == to {
				continue
			}
			for {
				ok, err := routeWorks(from, to)
				if err != nil {
					return err
				}
				if ok {
					break
				}
				if time.Now().After(end) {
					return fmt.Errorf("no route from %s to %s", from.Name, to.Name)
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
	return nil
}

func routeWorks(from, to *fleet.Server) (bool, error) {
	sub, err := wire.NewControl(to.Addr, to.Login, time.Now().Add(10*time.Second))
	if err != nil {
		return false, err
	}
	defer sub.Close()
	if err := sub.Conn().Sub("load.route", "", 2); err != nil {
		return false, err
	}
	if err := sub.Conn().Flush(); err != nil {
		return false, err
	}
	pub, err := wire.NewControl(from.Addr, from.Login, time.Now().Add(10*time.Second))
	if err != nil {
		return false, err
	}
	defer pub.Close()
	time.Sleep(10 * time.Millisecond) // let the interest travel
	if err := pub.Conn().Pub("load.route", "", nil); err != nil {
		return false, err
	}
	sub.Conn().SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, err = sub.Conn().Next()
	return err == nil, nil
}
